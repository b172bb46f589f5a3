# SPDX-License-Identifier: Apache-2.0
"""What programs write in passing is refused without a question, and listed."""
from support import Terminal
from test_asking import asked, press
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


def test_nobody_is_asked_about_the_directory_that_top_makes_at_its_start(ward):
    """Neither where there are settings of others, nor where there are none yet."""
    for directory in ('.config', '.config/procps'):
        desk = Terminal(ward, columns=150)
        desk.type('ward run -- env -u XDG_CONFIG_HOME top -d 1', 'Tasks:')
        desk.send('q')
        desk.ready()
        desk.close(force=True)
        denial, = last_result(ward)['attempts'][0]['denials']
        assert (denial['object'], denial['rule']) == (str(ward.home / directory), 'default: by-products are not worth a question')
        (ward.home / '.config').mkdir(exist_ok=True)
        ward.person.own(ward.home / '.config')


def test_what_is_a_by_product_of_one_program_is_asked_about_by_another(ward):
    directory = ward.home / '.config/procps'
    directory.parent.mkdir()
    ward.person.own(directory.parent)
    desk = Terminal(ward, columns=150)
    desk.sendline(f'ward run -- mkdir {directory}')
    asked(desk, f'mkdir wants to write {directory}')
    press(desk, 'n')
    desk.ready()
    desk.close(force=True)
    assert not directory.exists()
