#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The plan of a text held against the plan of the same text as `bash --pretty-print` writes it.

Random scripts come from a small grammar and from mutations of the labelled commands of tests/corpus. bash only parses them: it is
run as `bash -n` and `bash --pretty-print`, which execute nothing, and that inside `ward run`, where nothing could be reached. Where
bash accepts a text, both plans must hold the same commands in the same places, or the plan of the text must be opaque; where
bash refuses it, the plan must be opaque or, since bash runs the lines before the one it cannot read, hold a command at least.

    differential.py WARD [--seconds N] [--seed S] [--most N]      prints what disagrees, exits 1 if anything does"""
import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LOOP = ('for f in *.sh; do LC_ALL=C.UTF-8; export LC_ALL; '
        'timeout 5 bash --norc --noprofile -n "$f" >/dev/null 2>&1 && echo >"$f.ok"; '
        'timeout 5 bash --norc --noprofile --pretty-print "$f" >"$f.out" 2>/dev/null; done; :')

# --- making scripts -------------------------------------------------------------------------------------------------------

NAMES = 'a b ls cat rm echo git push if then do in time { [ x= case for -n printf'.split()
PLAIN = ['a', 'b-c', '-rf', '/', 'x=1', 'if', 'done', '{', '}', '!', 'esac', '1', 'in', '#c', 'a#b', '~', '~/x', '*.c', '[ab]', '{a,b}', '{1..3}', '=',
         'a=b', '+', '@', '%', '^', ',', ':', '..', 'do', 'a[1]=b', '{x}', '{', '{a', 'a}', '$', 'a\\ b', '\\\n', '\\a', '\\$', '\\`', '\\"', "\\'", '\\\\',
         'é', '\r', '\v', '-', '--', '*', '?']


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def pick(self, *choices):
        return self.rng.choice(choices)

    def word(self, depth):
        return ''.join(self.piece(depth) for _ in range(self.rng.choice((1, 1, 1, 2, 3))))

    def piece(self, depth):
        kind = self.rng.randrange(24 if depth > 0 else 14)
        if kind < 6:
            return self.rng.choice(PLAIN)
        if kind < 8:
            return "'" + self.pick('a', 'a b', '', '$x', '"', ';', '\\', '`', '(', '# c', '\n') + "'"
        if kind < 10:
            return '"' + ''.join(self.inside(depth) for _ in range(self.rng.randrange(3))) + '"'
        if kind == 10:
            return "$'" + self.pick('a', '\\n', '\\x72m', "\\'", '\\\\', ' ', '\\101', '\\u00e9', 'a\\tb') + "'"
        if kind < 14:
            return self.pick('$x', '${x}', '$1', '$@', '"$@"', '${x:-a}', '${x:-"a b"}', '${#x}', '${x%.c}', '${x//a/b}', '${a[0]}', '"${a[@]}"', '$?',
                             '$$', '$IFS', '${x:1:2}', '${!x}', '$"a"')
        if kind < 17:
            return '$(' + self.lists(depth - 1) + ')'
        if kind < 18:
            return '`' + self.pick('a', 'a b', 'a; b', 'echo $x', "a 'b'", 'a | b') + '`'
        if kind < 19:
            return '$((' + self.pick('1 + 2', 'x++', '(1)*2', '1<<2', '$x', "$(a)", 'a ? b : c') + '))'
        if kind < 20:
            return '${x:-' + self.pick('a', '$(' + self.lists(depth - 1) + ')', '"$y"', '`a`', '${y}', "'a'") + '}'
        if kind < 22:
            return self.pick('<(', '>(') + self.lists(depth - 1) + ')'
        return '"' + '$(' + self.lists(depth - 1) + ')' + '"'

    def inside(self, depth):
        return self.pick('a', ' ', '$x', '${x}', "'", '\\"', '\\$', '\\\\', '\\a', '#', ';', '$', '`a`', '${x:-b}', '(', ')', '{a,b}', '\\\n', '~', '*', '!',
                         *(['$(' + self.lists(depth - 1) + ')'] if depth > 0 else []))

    def redirect(self, depth):
        kind = self.rng.randrange(9)
        if kind < 6:
            return self.pick('>', '<', '>>', '2>', '2>&1 >', '&>', '>|', '<>', '{fd}>', '3<', '&>>', '>&') + self.pick('', ' ') + self.pick('f', '$x', '"a b"', '/dev/null')
        if kind < 7:
            return '2>&1'
        if kind < 8:
            return '<<< ' + self.word(depth)
        return '>&2'

    def simple(self, depth):
        words = []
        for _ in range(self.rng.choice((0, 0, 0, 1, 2))):
            words.append(self.pick('x=1', 'x=', "x='a b'", 'x=$y', 'y+=b', 'a=(b c)', 'a=(b\nc)', 'a[1]=b', 'x="$z"', 'x=$(' + (self.lists(depth - 1) if depth > 0 else 'a') + ')'))
        if self.rng.random() < 0.9 or not words:
            words.append(self.rng.choice(NAMES) if self.rng.random() < 0.85 else self.word(depth))
            words += [self.word(depth) for _ in range(self.rng.randrange(4))]
        if self.rng.random() < 0.2:
            words.insert(self.rng.randrange(len(words) + 1), self.redirect(depth))
        return self.pick(' ', ' ', '  ', '\t', ' \\\n').join(words)

    def heredoc(self, depth):
        tag = self.pick('E', 'EOF', "'E'", '"E"', '\\E')
        plain = tag.strip('\'"\\')
        dash = self.pick('', '', '-')
        body = ''.join(self.pick('a\n', '$x\n', '$(b c)\n', '`d`\n', '\\$(e)\n', "it's\n", '"\n', '(\n', 'a \\\nb\n', '\tE\n', '${x:-a}\n', '# x\n', '')
                       for _ in range(self.rng.randrange(4)))
        if plain + '\n' in body and not dash:
            body = 'a\n'
        return '%s <<%s%s%s\n%s%s\n' % (self.pick('cat', 'sh', 'python3 -', 'a b'), dash, tag, self.pick('', ' > f', ' | b', '; c', ' && d'), body, plain)

    def compound(self, depth):
        d, new = depth - 1, self.pick('; ', '\n', ' ;\n')
        kind = self.rng.randrange(14)
        body = self.lists(d)
        if kind == 0:
            return 'if ' + body + new + 'then ' + self.lists(d) + new + self.pick('', 'else ' + self.lists(d) + new, 'elif ' + self.lists(d) + new + 'then ' + self.lists(d) + new) + 'fi'
        if kind == 1:
            return self.pick('while ', 'until ') + body + new + 'do ' + self.lists(d) + new + 'done'
        if kind == 2:
            return 'for x in ' + ' '.join(self.word(d) for _ in range(self.rng.randrange(1, 3))) + new + 'do ' + body + new + 'done'
        if kind == 3:
            return self.pick('for ((i=0; i<3; i++))' + new + 'do ' + body + new + 'done', 'for x' + new + 'do ' + body + new + 'done',
                             'select x in a b' + new + 'do ' + body + new + 'done', 'for x in a b; { ' + body + new + '}')
        if kind == 4:
            return 'case ' + self.word(d) + ' in ' + self.pick('', '\n') + ''.join(
                self.pick('a)', '(a)', 'a|b)', '*)', '"a b")', '[ab])', '$x)') + ' ' + self.lists(d) + self.pick(' ;;', '\n;;', ' ;&', ' ;;&') + self.pick(' ', '\n')
                for _ in range(self.rng.randrange(3))) + 'esac'
        if kind == 5:
            return '{ ' + body + new + '}'
        if kind == 6:
            return '(' + self.pick('', ' ') + body + self.pick('', ' ', '\n') + ')'
        if kind == 7:
            return self.pick('f() { ', 'function f { ', 'f ()\n{ ', 'function f() { ', 'f-g() { ') + body + new + '}'
        if kind == 8:
            return self.pick('f() ( ' + body + ' )', 'f() if ' + body + new + 'then b' + new + 'fi')
        if kind == 9:
            return self.pick('[[ -f a ]]', '[[ $x == a* && -n "$y" ]]', '[[ a =~ ^(b|c)$ ]]', '[[ ! -d x || ( a < b ) ]]', '[[ -n $(a) ]]', '[[ a\n&& b ]]', '[[ $x =~ [0-9]+ ]]')
        if kind == 10:
            return self.pick('((x = 1))', '((x++))', '(( x << 2 ))', '((a > b))', '(( $(b) ))')
        if kind == 11:
            return self.pick('! ', 'time ', 'time -p ', '! ! ') + self.command(d)
        if kind == 12:
            return self.pick('coproc ', 'coproc N ') + '{ ' + body + new + '}'
        return '{ ' + body + new + '} ' + self.redirect(d)

    def command(self, depth):
        return self.compound(depth) if depth > 0 and self.rng.random() < 0.35 else self.simple(depth)

    def lists(self, depth):
        out = self.command(depth)
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            out += self.pick(' | ', ' && ', ' || ', '; ', '\n', ' |& ', ' & ', '|', '&&', ';', ' |\n', ' &&\n', ' # c\n', '\n\n') + self.command(depth)
        return out

    def script(self):
        lines = [self.heredoc(2) if self.rng.random() < 0.15 else self.lists(self.rng.choice((0, 1, 2, 3))) + '\n' for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        return ''.join(lines)


def corpus_texts():
    texts = []
    for path in sorted((SOURCE / 'tests' / 'corpus').glob('*.txt')):
        texts += [line for line in path.read_text().splitlines() if line and not line.startswith(('#', '=='))]
    return texts


SPICE = ['$(', ')', '`', '"', "'", '\\', '\n', ';', '|', '&', '{', '}', '(', '<<E\n', '\nE\n', '$', '#', ' ', '\\\n', '>', '<', '&&', 'if ', '; fi', '; then ', '; do ', '; done', '[[ ', ' ]]',
         '((', '))', '${', "$'", '<(', '=', '!', 'case x in ', ' esac', ';;', 'time ', 'f() ', '~', '*', '?', '[', ']', ',']


def mutate(rng, texts):
    text = rng.choice(texts)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4))):
        at, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at] + rng.choice(SPICE) + text[at:]
        elif kind == 1:
            text = text[:at] + text[min(at + 1, len(text)):]
        elif kind == 2:
            text = text[:at] + rng.choice(SPICE) + text[at:end] + rng.choice(SPICE) + text[end:]
        elif kind == 3:
            text = text[:at] + rng.choice(texts) + text[at:]
        else:
            text = text + rng.choice(['; ', ' | ', ' && ', '\n', ' & ']) + rng.choice(texts)
    return text


# --- holding plans against each other -------------------------------------------------------------------------------------

def plans(ward, texts):
    """Checks of many texts; nothing is run."""
    lines = ''.join(json.dumps({'command': text}) + '\n' for text in texts)
    out = subprocess.run([ward, 'check', '--batch'], input=lines, capture_output=True, text=True, timeout=600)
    return [json.loads(line) for line in out.stdout.splitlines()]


def parse(ward, texts):
    """For each text whether bash accepts it, and how bash writes it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix='ward-differential-'))
    try:
        for i, text in enumerate(texts):
            (directory / ('%06d.sh' % i)).write_bytes(text.encode('utf-8', 'surrogateescape'))
        subprocess.run([ward, 'run', '--workspace', str(directory), '--cwd', str(directory), '--timeout', '600s', '--quiet', '-c', LOOP],
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=700)
        for i in range(len(texts)):
            name = directory / ('%06d.sh' % i)
            out = pathlib.Path(str(name) + '.out')
            yield pathlib.Path(str(name) + '.ok').exists(), out.read_bytes().decode(errors='replace') if out.exists() else None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


# a redirection before a word that is reserved only at the start
MOVED = re.compile(r'[<>]\S*[ \t]*(\\\n)?\S+([ \t]|\\\n)+(time|if|then|do|in|case|for|\{|!|\[\[)\b')
HELD = ('branch', 'condition', 'group')  # what bash writes in another way: elif becomes else if


def words(argv):
    # bash writes the text of a substitution, of an array and of arithmetic anew; the commands in them are held against each other by themselves
    return tuple('...' if re.search(r'\$\(|`|[<>]\(|\$\[|\$\{', word) else re.sub(r'\s+', ' ', word) for word in argv)


def shape(plan, redirected=True):
    out = []
    for command in plan['commands']:
        context = tuple(place for place in command['context'] if place not in HELD and ', never called' not in place)
        argv = words(command['argv'])
        if argv and argv[0] == '[[':
            argv = argv[:1]
        redirects = tuple((r['operator'].rstrip('-') if r['operator'] == '<<-' else r['operator'],) for r in command['redirects'])
        if argv or (redirects and redirected):
            out.append((argv, context, len(redirects) if redirected else 0))
    return sorted(out)


def outside(commands):
    """As if no function were around them."""
    return [(argv, tuple(place for place in context if not place.startswith('function ')), redirects) for argv, context, redirects in commands]


# not known, though read by both readers alike
NAMED = re.compile('known only|code from a pipe|runs what|another machine|that it has written|what a file says|what the|what package')


def is_doubted(plan):
    return any(not NAMED.search(part['reason']) for part in plan['opaque_parts'])


def compare(ward, texts):
    """(text, what is wrong) for each disagreement, how many texts bash accepted, and of how many of these the plan is in doubt."""
    wrong, accepted, doubted = [], 0, 0
    bash = list(parse(ward, texts))
    # bash does not always write what it would read as the same: a redirection before a reserved word moves behind it
    again = list(parse(ward, [out or '' for _, out in bash]))
    written = plans(ward, texts)
    pretty = plans(ward, [out if ok and out else ':' for ok, out in bash])
    for text, (ok, out), (still, twice), mine, theirs in zip(texts, bash, again, written, pretty):
        accepted += ok
        doubted += ok and is_doubted(mine)
        if not ok:
            if not is_doubted(mine):
                wrong.append((text, 'bash refuses it, and the plan is sure: %s' % shape(mine)))
        elif not out or not still or out != twice or MOVED.search(text):
            continue
        elif not is_doubted(mine):
            # |& is written as 2>&1 |
            a, b = shape(mine, '|&' not in text), shape(theirs, '|&' not in text)
            # a plan in doubt holds what either of two readers found; by what the other one found, a function may be called
            if a == b or (is_doubted(theirs) and all(command in outside(b) for command in outside(a))):
                continue
            # $"a" is another word where it is translated, and a guess stands beside it; bash writes it as "a"
            if '$"' in text and all(command in a for command in b):
                continue
            wrong.append((text, 'only in the text: %s; only as bash writes it: %s; which is\n%s'
                          % ([x for x in a if x not in b], [x for x in b if x not in a], out)))
    return wrong, accepted, doubted


def fuzz(ward, seed, seconds, most=None, batch=200):
    """Disagreements; how many texts, accepted by bash, and doubted though they are."""
    rng, texts = random.Random(seed), corpus_texts()
    maker, end = Maker(rng), time.monotonic() + seconds
    wrong, count, accepted, doubted = [], 0, 0, 0
    while time.monotonic() < end and (most is None or count < most):
        size = batch if most is None else min(batch, most - count)
        scripts = [maker.script() if rng.random() < 0.6 else mutate(rng, texts) for _ in range(size)]
        scripts = [script for script in scripts if '\0' not in script]
        found, ok, unsure = compare(ward, scripts)
        wrong += found
        count += len(scripts)
        accepted += ok
        doubted += unsure
        if len(wrong) > 50:
            break
    return wrong, count, accepted, doubted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('ward')
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--seed', type=int, default=None)
    parser.add_argument('--most', type=int, default=None)
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 30)
    wrong, count, accepted, doubted = fuzz(args.ward, seed, args.seconds, args.most)
    for text, why in wrong:
        print('%r\n    %s\n' % (text, why))
    print('seed %d: %d texts, %d of them valid, of these %d in doubt; %d disagreements' % (seed, count, accepted, doubted, len(wrong)))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
