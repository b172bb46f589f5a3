# SPDX-License-Identifier: Apache-2.0
"""What the supervisor makes for a program lies in the directory that the program is in at that moment."""


def works(ward, script):
    result = ward.result('--', '/usr/bin/python3', '-I', '-c', script)
    assert result['exit_code'] == 0, result['stderr']
    return result['stdout']


MAKE = '''if True:
    import os, threading
    top = os.getcwd()
    def make(name, flags=os.O_EXCL):
        os.close(os.open(name, os.O_CREAT | flags | os.O_WRONLY, 0o666))
    '''


def test_each_file_lies_where_the_program_was(ward):
    script = MAKE + '''
    for name in 'abc': os.makedirs(f'{name}/below')
    for number in range(60):
        place = f'{top}/{"abc"[number % 3]}' + '/below' * (number % 2)
        os.chdir(place)
        for flags in (os.O_EXCL, 0):
            make(f'f{number}-{flags}', flags)
            assert os.path.exists(f'{place}/f{number}-{flags}')
    print(sum(len(files) for _, _, files in os.walk(top)))'''
    assert works(ward, script) == '120\n'


def test_a_directory_that_was_moved_is_followed(ward):
    script = MAKE + '''
    os.mkdir('d0')
    os.chdir('d0')
    for number in range(30):
        make(f'f{number}')
        os.rename(f'{top}/d{number}', f'{top}/d{number + 1}')
    print(len(os.listdir(f'{top}/d30')), os.listdir(top))'''
    assert works(ward, script) == "30 ['d30']\n"


def test_a_thread_s_working_directory_is_that_of_all(ward):
    script = MAKE + '''
    for name in 'ab': os.mkdir(name)
    for number in range(20):
        place = f'{top}/{"ab"[number % 2]}'
        thread = threading.Thread(target=os.chdir, args=(place,))
        thread.start()
        thread.join()
        for n in range(4): make(f'f{number}-{n}')
        assert os.path.exists(f'{place}/f{number}-3')
    print('all')'''
    assert works(ward, script) == 'all\n'


def test_many_files_in_a_row_and_then_elsewhere(ward):
    """By name and by fd, by oneself and by a thread that has just come, in the middle of what is made fastest."""
    script = MAKE + '''
    places = [f'{top}/p{number}' for number in range(24)]
    for place in places: os.mkdir(place)
    for number, place in enumerate(places):
        if number % 3 == 0:
            os.chdir(place)
        elif number % 3 == 1:
            fd = os.open(place, os.O_RDONLY)
            os.fchdir(fd)
            os.close(fd)
        else:
            thread = threading.Thread(target=os.chdir, args=(place,))
            thread.start()
            thread.join()
        for n in range(40): make(f'f{n}')
    assert [len(os.listdir(place)) for place in places] == [40] * 24, [len(os.listdir(place)) for place in places]
    print(sorted(os.listdir(top)) == sorted(os.path.basename(place) for place in places))'''
    assert works(ward, script) == 'True\n'
