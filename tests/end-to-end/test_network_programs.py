# SPDX-License-Identifier: Apache-2.0
"""Programs of every day reach what was allowed, as root and as a plain user, with no proxy and no settings of their own. The
compilers of go and rust are not installed for the tests; what needs them is skipped without."""
import subprocess

import pytest

from support import PATH
from test_programs import needs, works
from world import BLACK_HOLE, BLACK_HOLE6, OTHER, WEB, WEB6, plain, to, ward, world


@pytest.fixture
def web(world):
    """A web server behind a name."""
    world.name('web.example', WEB)
    return world.web(page=b'hello\n')


@pytest.fixture
def site(web):
    return f'web.example:{web.port}'


def test_curl(ward, site, web):
    script = (f'curl -sS http://{site}/one\ncurl -sSI http://{site}/head | head -1\ncurl -sS http://{site}/a http://{site}/b\n'
              f'curl -sS -4 http://{site}/4\ncurl -sS -6 http://{site}/6\ncurl -sS -d key=value http://{site}/post\n')
    ward.allow('curl')
    assert works(ward, script, *to(site)) == 'hello\nHTTP/1.1 200 OK\r\n' + 'hello\n' * 5
    assert [request.path for request in web.requests] == ['/one', '/head', '/a', '/b', '/4', '/6', '/post']
    assert web.requests[2].peer == web.requests[3].peer, 'one connection serves both'
    assert {request.host for request in web.requests} == {site}


def test_curl_in_parallel(ward, site, web):
    works(ward, f'curl -sS --parallel --parallel-immediate --parallel-max 20 "http://{site}/[1-40]" -o "out#1"; cat out* | sort | uniq -c > lines\n'
          'test "$(cat lines)" = "     40 hello"', *to(site))
    assert {request.path for request in web.requests} == {f'/{i}' for i in range(1, 41)}


def test_curl_with_tls(ward, world):
    world.name('secure.example', WEB)
    port = world.https('secure.example', '*.wild.example')
    world.name('a.wild.example', WEB)
    for name in ('secure.example', 'a.wild.example'):
        assert works(ward, f'curl -sS --cacert {world.ca} https://{name}:{port}/', *to(f'{name}:{port}')) == 'hello\n'
    world.name('wrong.example', WEB)
    assert ward.run('curl', '-sS', '--cacert', world.ca, f'https://wrong.example:{port}/', flags=to(f'wrong.example:{port}')).code == 60


HTTP2 = '''
const http2 = require("http2"), fs = require("fs"), [cert, key, host, plain, secure] = process.argv.slice(2);
const page = (q, r) => r.end("version " + q.httpVersion + "\\n");
http2.createServer(page).listen(plain, host);
http2.createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, page).listen(secure, host);
'''


def test_curl_with_http2(ward, world):
    needs('node')
    world.name('two.example', WEB)
    open_port, secure_port = world.unused(), world.unused()
    script = world.write('http2.js', HTTP2)
    world.start('node', script, *world.certificate('two.example'), WEB, open_port, secure_port)
    world.answers(secure_port)
    flags = to(f'two.example:{open_port}', f'two.example:{secure_port}')
    script = (f'curl -sS --http2-prior-knowledge http://two.example:{open_port}/\n'
              f'curl -sS --http2 --cacert {world.ca} --parallel "https://two.example:{secure_port}/[1-10]"\n')
    assert works(ward, script, *flags) == 'version 2.0\n' * 11


def test_curl_sends_a_hundred_megabytes(ward, site, web):
    ward.allow('curl')
    works(ward, f'truncate -s 100M big; curl -sS -T big http://{site}/big', *to(site))
    assert [request.sent for request in web.requests] == [100 << 20]


def test_curl_and_a_name_with_one_family(ward, world):
    world.name('six.example', WEB6)
    port = world.http(WEB6)
    assert works(ward, f'curl -sS http://six.example:{port}/; curl -sS -6 http://six.example:{port}/', *to(f'six.example:{port}')) == 'hello\n' * 2
    assert works(ward, f'curl -sS http://[{WEB6}]:{port}/', *to(f'[{WEB6}]:{port}')) == 'hello\n'


def test_curl_by_another_name(ward, world, web):
    world.alias('www.alias.example', 'alias.example')
    world.alias('alias.example', 'web.example')
    assert works(ward, f'curl -sS http://www.alias.example:{web.port}/', *to(f'www.alias.example:{web.port}')) == 'hello\n'


def test_curl_is_told_what_went_wrong(ward, world):
    world.name('closed.example', WEB)
    closed = world.unused()
    done = ward.run('curl', '-sSv', f'http://closed.example:{closed}/', flags=to(f'closed.example:{closed}'))
    assert done.code == 7 and 'Connection refused' in done.err, done
    world.name('hole.example', BLACK_HOLE, BLACK_HOLE6)
    done = ward.run('curl', '-sS', '--connect-timeout', '1', 'http://hole.example/', flags=to('hole.example:80'))
    assert done.code == 28, done


def test_curl_and_a_name_that_is_not_there(plain, world):
    result = plain.result(*to('none.example:80'), '--', 'curl', '-sS', '--max-time', '20', 'http://none.example/')
    assert result['exit_code'] in (6, 7) and result['attempts'][0]['denials'] == []


def test_curl_when_the_first_address_is_dead(plain, world, web):
    world.name('eyes.example', BLACK_HOLE6, WEB)
    assert works(plain, f'curl -sS --max-time 60 http://eyes.example:{web.port}/', *to(f'eyes.example:{web.port}')) == 'hello\n'


def test_wget(ward, site, world):
    needs('wget')
    assert works(ward, f'wget -q -O - http://{site}/; wget -q http://{site}/page; cat page', *to(site)) == 'hello\n' * 2
    world.name('secure.example', WEB)
    port = world.https('secure.example')
    assert works(ward, f'wget -q -O - --ca-certificate={world.ca} https://secure.example:{port}/', *to(f'secure.example:{port}')) == 'hello\n'


def test_wget_gives_up_at_once_where_it_is_refused(ward, world):
    """It would try again for minutes, were it told of a permission that is missing."""
    needs('wget')
    world.name('web.example', WEB)
    for flags in ((), to('other.example')):
        result = ward.result(*flags, '--timeout', '20s', '--', 'wget', '-O', '-', 'http://web.example/')
        assert result['exit_code'] == 4 and 'Retrying' not in result['stderr'], result
        denial, = result['attempts'][-1]['denials']
        assert (denial['operation'], denial['object']) == ('connect', 'web.example:80') and denial['count'] <= 2


def test_wgets_own_time_limit(ward, world):
    """It ends a blocking connect by a signal."""
    needs('wget')
    world.name('hole.example', BLACK_HOLE)
    done = ward.run('wget', '--tries=1', '--connect-timeout=1', '-O', '-', 'http://hole.example/', flags=[*to('hole.example:80'), '--timeout', '20s'])
    assert done.code == 4, done


URLLIB = '''
import http.client, ssl, sys, urllib.request
site, secure, ca = sys.argv[1:]
print(urllib.request.urlopen(f"http://{site}/", timeout=30).read().decode(), end="")
print(urllib.request.urlopen(f"https://{secure}/", timeout=30, context=ssl.create_default_context(cafile=ca)).read().decode(), end="")
connection = http.client.HTTPConnection(site)
for i in range(3): connection.request("GET", f"/{i}"); print(connection.getresponse().read().decode(), end="")
'''


def test_python_urllib(ward, world, site):
    world.name('secure.example', WEB)
    secure = f'secure.example:{world.https("secure.example")}'
    done = ward.python(URLLIB, site, secure, world.ca, flags=to(site, secure))
    assert done.out == 'hello\n' * 5, done


PERL = '''
use IO::Socket::INET; use IO::Socket::IP; use IO::Select;
for my $class (qw(IO::Socket::INET IO::Socket::IP)) {
    my $s = $class->new(PeerHost => "echo.example", PeerPort => $ARGV[0], Timeout => 30) or die "$@"; print $s "line\\n"; $s->flush; print scalar <$s>;
}
my $s = IO::Socket::INET->new(PeerHost => "hole.example", PeerPort => 80, Timeout => 0.5); print $s ? "connected" : $@, "\\n";
$s = IO::Socket::INET->new(PeerHost => "echo.example", PeerPort => $ARGV[1], Timeout => 30); print $s ? "connected" : $@, "\\n";
'''


def test_perl(ward, places):
    needs('perl')
    port, closed, flags = places
    ward.file('client.pl', PERL)
    lines = works(ward, f'perl client.pl {port} {closed}', *flags).splitlines()
    assert lines[:2] == ['line', 'line'] and 'timeout' in lines[2].lower() and 'Connection refused' in lines[3], lines


def test_bash(ward, places):
    """Its own way to a socket: a name and a port in a redirection."""
    port, closed, flags = places
    ward.file('task', f'exec 3<>/dev/tcp/echo.example/{port}; echo line >&3; read -r line <&3; echo $line\n'  # among the words it is asked about
              f'! (exec 3<>/dev/tcp/echo.example/{closed}) 2> said; grep -o "Connection refused" said | sort -u')
    out = works(ward, 'bash -e task', *flags)
    assert out == 'line\nConnection refused\n'


def test_openssl(plain, world):
    world.name('secure.example', WEB)
    port = world.https('secure.example')
    out = works(plain, f'printf "GET / HTTP/1.0\\r\\n\\r\\n" | openssl s_client -quiet -verify_return_error -verify_hostname secure.example -CAfile {world.ca} '
                f'-connect secure.example:{port} 2> said || {{ cat said; exit 1; }}', *to(f'secure.example:{port}'))
    assert out.endswith('hello\n')


def test_rsync(ward, world, place):
    needs('rsync')
    world.name('files.example', OTHER)
    port, served = world.unused(OTHER), place / 'served'
    served.mkdir()
    for i in range(100):
        (served / str(i)).write_text(f'{i}\n' * 1000)
    config = place / 'rsyncd.conf'
    config.write_text(f'use chroot = no\n[files]\npath = {served}\nread only = yes\n')
    world.start('rsync', '--daemon', '--no-detach', '--address', OTHER, '--port', port, '--config', config)
    world.answers(port, OTHER)
    ward.allow('rsync')
    works(ward, f'rsync -a rsync://files.example:{port}/files/ copy/; test $(ls copy | wc -l) = 100', *to(f'files.example:{port}'))
    assert (ward.work / 'copy' / '42').read_text() == '42\n' * 1000


NODE = '''
const http = require("http"), net = require("net"), [site, port] = process.argv.slice(2);
(async () => {
  console.log((await (await fetch(`http://${site}/`)).text()).trim());
  console.log((await Promise.all([...Array(50)].map(async (_, i) => (await fetch(`http://${site}/${i}`)).status))).filter(s => s == 200).length);
  const echo = i => new Promise((done, failed) => { let got = ""; const text = String(i).repeat(1000);
    const s = net.connect({ host: "echo.example", port }, () => s.end(text)).on("data", d => got += d).on("error", failed)
      .on("close", () => done(got === text)); });
  console.log((await Promise.all([...Array(50)].map((_, i) => echo(i)))).filter(x => x).length);
  const agent = new http.Agent({ keepAlive: true });
  for (let i = 0; i < 3; i++) await new Promise(done => http.get(`http://${site}/kept`, { agent }, r => r.resume().on("end", done)));
  agent.destroy();
  net.connect({ host: "echo.example", port: process.argv[4] }).on("error", e => console.log(e.code));
})();
'''


def test_node(ward, world, site, web):
    needs('node')
    world.name('echo.example', WEB)
    port, closed = world.echo(), world.unused()
    ward.file('client.js', NODE)
    out = works(ward, f'node client.js {site} {port} {closed}', *to(site, f'echo.example:{port}', f'echo.example:{closed}'))
    assert out.split() == ['hello', '50', '50', 'ECONNREFUSED']
    assert len({request.peer for request in web.requests if request.path == '/kept'}) == 1


JAVA = '''
import java.net.*; import java.net.http.*; import java.io.*; import java.time.*; import java.util.*; import java.util.concurrent.*;
public class Client {
  public static void main(String[] a) throws Exception {
    HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(30)).build();
    HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + a[0] + "/")).build();
    System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
    for (int i = 0; i < 20; i++) all.add(client.sendAsync(request, HttpResponse.BodyHandlers.ofString()));
    int good = 0; for (var one : all) if (one.get().statusCode() == 200) good++;
    System.out.println(good);
    try (Socket s = new Socket("echo.example", Integer.parseInt(a[1]))) {
      s.getOutputStream().write("plain\\n".getBytes());
      System.out.println(new BufferedReader(new InputStreamReader(s.getInputStream())).readLine());
    }
    Socket timed = new Socket(); timed.setTcpNoDelay(true);
    try { timed.connect(new InetSocketAddress("hole.example", 80), 500); } catch (SocketTimeoutException e) { System.out.println("timed out"); }
    try { new Socket("echo.example", Integer.parseInt(a[2])); } catch (ConnectException e) { System.out.println("refused"); }
    System.exit(0);
  }
}
'''


@pytest.fixture(scope='module')
def compiled(top):
    """A directory for what is compiled once for all tests."""
    path = top / 'compiled'
    path.mkdir(exist_ok=True)
    return path


def compile(compiled, name, text, *command):
    source = compiled / name
    if not source.exists():
        source.write_text(text)
        done = subprocess.run(list(map(str, command)), cwd=compiled, capture_output=True, text=True, timeout=300,
                              env={'PATH': PATH, 'HOME': str(compiled), 'GOCACHE': str(compiled / 'cache'), 'GOPATH': str(compiled / 'go')})
        assert done.returncode == 0, done.stderr


@pytest.fixture
def places(world):
    """Names for the compiled clients: echo.example, hole.example; an echoing and a closed port."""
    world.name('echo.example', WEB)
    world.name('hole.example', BLACK_HOLE)
    port, closed = world.echo(), world.unused()
    return port, closed, to(f'echo.example:{port}', f'echo.example:{closed}', 'hole.example:80')


def test_java(ward, site, places, compiled):
    needs('java', 'javac')
    port, closed, flags = places
    compile(compiled, 'Client.java', JAVA, 'javac', 'Client.java')
    out = works(ward, f'java -XX:TieredStopAtLevel=1 -cp {compiled} Client {site} {port} {closed}', *to(site), *flags)
    assert out.split('\n') == ['hello', '20', 'plain', 'timed out', 'refused', '']


GO = '''
package main
import ("bufio"; "fmt"; "io"; "net"; "net/http"; "os"; "sync"; "time"; "errors"; "syscall")
func main() {
	response, err := http.Get("http://" + os.Args[1] + "/")
	if err != nil { fmt.Println(err); os.Exit(1) }
	body, _ := io.ReadAll(response.Body); fmt.Print(string(body))
	var wait sync.WaitGroup; var lock sync.Mutex; good := 0
	for i := 0; i < 50; i++ { wait.Add(1); go func() { defer wait.Done()
		s, err := net.Dial("tcp", "echo.example:" + os.Args[2]); if err != nil { fmt.Println(err); return }
		defer s.Close(); fmt.Fprintf(s, "line\\n"); line, _ := bufio.NewReader(s).ReadString('\\n')
		if line == "line\\n" { lock.Lock(); good++; lock.Unlock() } }() }
	wait.Wait(); fmt.Println(good)
	_, err = net.DialTimeout("tcp", "hole.example:80", 500 * time.Millisecond)
	if problem, ok := err.(net.Error); ok && problem.Timeout() { fmt.Println("timed out") }
	_, err = net.Dial("tcp", "echo.example:" + os.Args[3])
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
}
'''


def test_go(ward, site, places, compiled):
    """Its own resolver, without the C library."""
    needs('go')
    port, closed, flags = places
    compile(compiled, 'client.go', GO, 'go', 'build', '-o', 'go-client', 'client.go')
    assert works(ward, f'GODEBUG=netdns=go {compiled}/go-client {site} {port} {closed}', *to(site), *flags).split('\n') == ['hello', '50', 'timed out', 'true', '']


def test_a_go_program_of_debian(ward, site, web):
    """Its runtime polls sockets in a way of its own; small enough to be installed for the tests."""
    needs('hey')
    ward.allow('hey')
    out = works(ward, f'hey -n 60 -c 20 http://{site}/one', *to(site))
    assert '[200]\t60 responses' in out, out
    assert [request.path for request in web.requests] == ['/one'] * 60


RUST = '''
use std::io::{Read, Write}; use std::net::{Shutdown, TcpStream, ToSocketAddrs}; use std::time::Duration;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let threads: Vec<_> = (0..20).map(|i| { let target = format!("echo.example:{}", a[1]); std::thread::spawn(move || {
        let mut s = TcpStream::connect(target).unwrap(); let text = format!("{}", i).repeat(1000); s.set_nodelay(true).unwrap();
        s.write_all(text.as_bytes()).unwrap(); s.shutdown(Shutdown::Write).unwrap();
        let mut got = String::new(); s.read_to_string(&mut got).unwrap(); got == text }) }).collect();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap()).filter(|x| *x).count());
    let hole = "hole.example:80".to_socket_addrs().unwrap().next().unwrap();
    println!("{:?}", TcpStream::connect_timeout(&hole, Duration::from_millis(500)).unwrap_err().kind());
    println!("{:?}", TcpStream::connect(format!("echo.example:{}", a[2])).unwrap_err().kind());
}
'''


def test_rust(ward, places, compiled):
    needs('rustc')
    port, closed, flags = places
    compile(compiled, 'client.rs', RUST, 'rustc', '-o', 'rust-client', 'client.rs')
    assert works(ward, f'{compiled}/rust-client {port} {closed}', *flags).split() == ['20', 'TimedOut', 'ConnectionRefused']


@pytest.fixture(scope='module')
def redis(world, user, top):
    """A real Redis; its port. The server and the tool that checks its files are one program, told apart by name; the package of
    the tool starts no server of its own."""
    needs('redis-check-rdb', 'redis-cli')
    world.name('redis.example', OTHER)
    port, directory = world.unused(OTHER), top / 'redis'
    directory.mkdir()
    user.own(directory)
    (directory / 'redis-server').symlink_to('/usr/bin/redis-check-rdb')
    world.start(directory / 'redis-server', '--bind', OTHER, '--port', port, '--dir', directory, '--save', '', '--protected-mode', 'no', person=user, cwd=directory)
    world.answers(port, OTHER)
    return port


def test_redis(ward, redis):
    at = f'redis-cli -h redis.example -p {redis}'
    ward.file('task', f'{at} ping; {at} set key {ward.person.name}; {at} get key; seq 200 | sed "s/.*/incr n&/" | {at} --pipe | tail -1')
    out = works(ward, 'bash -e task', *to(f'redis.example:{redis}'))  # --pipe among the words is asked about
    lines = out.splitlines()
    assert lines[:3] == ['PONG', 'OK', ward.person.name] and lines[3].startswith('errors: 0')


@pytest.fixture(scope='module')
def postgres(world, user, top, servers):
    """A real PostgreSQL; its port."""
    needs('psql')
    programs = sorted(directory for directory in servers.glob('usr/lib/postgresql/*/bin') if (directory / 'initdb').exists())
    if not programs:
        pytest.skip('not fetched: tools/dependencies test')
    world.name('db.example', OTHER)
    port, directory = world.unused(OTHER), top / 'postgres'
    directory.mkdir(mode=0o700)
    user.own(directory)
    code, out = world.call(programs[-1] / 'initdb', '--no-sync', '-A', 'trust', '-U', 'someone', '-E', 'UTF8', '-D', directory, person=user)
    assert code == 0, out
    with open(directory / 'pg_hba.conf', 'a', encoding='utf-8') as file:
        file.write(f'host all all {OTHER}/24 trust\n')
    world.start(programs[-1] / 'postgres', '-F', '-D', directory, '-h', OTHER, '-p', port, '-k', directory, person=user, cwd=directory)
    world.answers(port, OTHER)
    return port


def test_psql(ward, postgres):
    ward.allow('psql')
    at = f'psql -h db.example -p {postgres} -U someone -AtqX postgres'
    out = works(ward, f'{at} -c "select 40 + 2"; {at} -c "create temporary table t (x int); insert into t select generate_series(1, 10000); '
                'select sum(x) from t"', *to(f'db.example:{postgres}'))
    assert out == '42\n50005000\n'
