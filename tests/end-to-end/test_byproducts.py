# SPDX-License-Identifier: Apache-2.0
"""What programs write in passing is refused without a question, and listed."""
from support import Terminal
from test_asking_in_place import last_result


def test_nobody_is_asked_about_compiled_modules_and_histories(ward):
    library = ward.place / 'library'
    library.mkdir()
    ward.person.own(library)
    ward.file(library / 'module.py', 'print("imported" + " here")\n')
    ward.file(ward.home / '.python_history', 'old\n')
    ward.file('act.py', f'''import sys
sys.path.insert(0, {str(library)!r})
import module
for name in (".python_history", ".lesshst"):
    try: open({str(ward.home)!r} + "/" + name, "a")
    except OSError as e: print("got", e.strerror)
''')
    desk = Terminal(ward, columns=150)
    printed = desk.does('ward run -- /usr/bin/python3 act.py')
    assert 'imported here' in printed and printed.count('got Permission denied') == 2
    assert 'ward' not in printed.replace('ward-test', ''), printed  # neither a question nor a line about it
    denials = {denial['object']: denial['rule'] for denial in last_result(ward)['attempts'][0]['denials']}
    assert denials[str(ward.home / '.lesshst')] == 'default: by-products are not worth a question'
    assert any('__pycache__' in path for path in denials), denials
    desk.close(force=True)
