# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium, driven through tests/web/browser.mjs."""
import json
import select
import subprocess

PATIENCE = 120


class Browser:
    """One browser; each page is somebody else's."""

    def __init__(self, node, script, chromium):
        self.process = subprocess.Popen([node, script, chromium], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def do(self, page, name, *words):
        self.process.stdin.write(json.dumps({'page': page, 'do': name, 'with': words}) + '\n')
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise TimeoutError(f'the browser has not done {name} {words}')
        said = json.loads(self.process.stdout.readline())
        if 'error' in said:
            raise AssertionError(f'{name} {words}: {said["error"]}')
        return said['value']

    def open(self, **options):
        return Page(self, self.do(None, 'open', options))

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Page:
    """Methods are those of tests/web/browser.mjs, else of playwright's Page."""

    def __init__(self, browser, number):
        self.browser, self.number = browser, number

    def __getattr__(self, name):
        return lambda *words: self.browser.do(self.number, name, *words)

    def another(self):
        return Page(self.browser, self.browser.do(self.number, 'another'))
