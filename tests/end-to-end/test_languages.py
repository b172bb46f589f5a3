# SPDX-License-Identifier: Apache-2.0
"""Languages, browsers and debuggers in the sandbox, as root and as a plain user. What is not installed is skipped; the
compilers of go and rust are not installed for the tests."""
import pytest

from test_programs import needs, works

SMALL = {'timeout': 180}

ASYNC = '''
import asyncio, multiprocessing, socket
def square(x): return x * x
async def echo(reader, writer):
    writer.write(await reader.readline()); await writer.drain(); writer.close()
async def main():
    child = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    print((await child.communicate())[0].decode().strip())
    server = await asyncio.start_unix_server(echo, "socket")
    reader, writer = await asyncio.open_unix_connection("socket")
    writer.write(b"unix\\n"); print((await reader.readline()).decode().strip()); server.close()
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"tcp\\n"); print((await reader.readline()).decode().strip()); server.close()
    print(await asyncio.get_running_loop().run_in_executor(None, square, 4))
if __name__ == "__main__":
    asyncio.run(main())
    for way in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(2) as pool: print(way, sum(pool.map(square, range(4))))
    one, other = socket.socketpair(); one.send(b"pair"); print(other.recv(4).decode())
'''


def test_python_asyncio_and_every_way_to_start_a_process(ward):
    ward.file('program.py', ASYNC)
    assert works(ward, '/usr/bin/python3 program.py').split() == [
        'child', 'unix', 'tcp', '16', 'fork', '14', 'spawn', '14', 'forkserver', '14', 'pair']


CLUSTER = '''
const cluster = require("cluster"), http = require("http"), { fork } = require("child_process"), dgram = require("dgram");
if (process.argv[2]) { process.send("message"); process.disconnect(); }
else if (cluster.isPrimary) {
  let up = 0; cluster.fork(); cluster.fork();
  cluster.on("listening", (worker, address) => { if (++up < 2) return;
    http.get({ host: "127.0.0.1", port: address.port }, r => r.on("data", d => console.log(d.toString())).on("end", () => {
      for (const one of Object.values(cluster.workers)) one.kill();
      fork(__filename, ["child"]).on("message", m => { console.log(m);
        const server = dgram.createSocket("udp4").on("message", m => { console.log(m.toString()); server.close(); });
        server.bind(0, "127.0.0.1", () => { const one = dgram.createSocket("udp4");
          one.send("datagram", server.address().port, "127.0.0.1", () => one.close()); }); }); })); });
} else http.createServer((q, r) => r.end("worker")).listen(0, "127.0.0.1");
'''


def test_node_cluster_and_messages(ward):
    needs('node')
    ward.file('program.js', CLUSTER)
    assert works(ward, 'node program.js').split() == ['worker', 'message', 'datagram']


def test_npm_without_a_network(ward):
    needs('npm', 'node')
    ward.file('library/package.json', '{"name": "library", "version": "1.2.3", "main": "index.js"}')
    ward.file('library/index.js', 'module.exports = 42\n')
    script = '''
export npm_config_cache=/tmp/npm npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
mkdir app packed && cd app && npm init -y > /dev/null
npm pack --silent --pack-destination ../packed ../library
npm install --silent ../packed/library-1.2.3.tgz
node -e 'console.log(require("library"), require("library/package.json").version)'
npm uninstall --silent library && npm install --silent ../library && node -p 'require("library")'
npm pkg set scripts.hello='echo from a script' && npm run --silent hello
'''
    assert works(ward, script, **SMALL).splitlines() == ['library-1.2.3.tgz', '42 1.2.3', '42', 'from a script']


WAITING = '#include <unistd.h>\nint answer = 42;\nint main(void) { for (int i = 0; i < 600; i++) usleep(100000); return answer; }\n'


def test_strace_attaches_to_a_process_inside(ward):
    needs('strace')
    out = works(ward, 'sleep 60 & p=$!; strace -o trace -p $p 2> said & for i in $(seq 400); do grep -q attached said && break; sleep 0.05; done; '
                'kill $p; wait $! || :; grep -c "+++ killed by SIGTERM" trace')
    assert out == '1\n'


def test_gdb_attaches_to_a_process_inside(ward):
    needs('gdb')
    ward.file('w.c', WAITING)
    out = works(ward, 'gcc -g -o w w.c; ./w & p=$!; sleep 0.3; gdb -nx -batch -p $p -ex "print answer" -ex "info threads" -ex detach 2>&1; kill $p; '
                'wait $p || :', env={'PYTHONDONTWRITEBYTECODE': '1'}, **SMALL)
    assert '$1 = 42' in out, out


def test_a_program_that_watches_its_threads(plain):
    """ThreadSanitizer executes itself again without address randomisation."""
    plain.file('t.c', '#include <pthread.h>\n#include <stdio.h>\nstatic void *f(void *x) { return x; }\n'
               'int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts("clean"); }\n')
    if plain.shell('gcc -g -fsanitize=thread -o t t.c -lpthread').code:
        pytest.skip('not installed: libtsan')
    assert works(plain, './t') == 'clean\n'


GO = '''package main

import ("fmt"; "net"; "os"; "os/exec"; "sync")

func main() {
	var group sync.WaitGroup
	numbers := make(chan int, 100)
	for i := 0; i < 100; i++ { group.Add(1); go func(i int) { defer group.Done(); numbers <- i }(i) }
	group.Wait()
	said, _ := exec.Command("echo", "child").Output()
	fmt.Print(len(numbers), " ", string(said))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil { panic(err) }
	go func() { one, _ := listener.Accept(); one.Write([]byte("hi")); one.Close() }()
	other, err := net.Dial("tcp", listener.Addr().String())
	if err != nil { panic(err) }
	bytes := make([]byte, 2); other.Read(bytes); fmt.Println(string(bytes))
	if os.MkdirAll("a/b/c", 0o755) != nil || os.WriteFile("a/b/c/d", bytes, 0o644) != nil { os.Exit(1) }
}
'''


def test_go(ward):
    needs('go')
    ward.file('program.go', GO)
    script = 'export GOCACHE=/tmp/go GOPATH=/tmp/gopath GO111MODULE=off GOFLAGS=-p=2; go build -o program program.go; ./program; go vet program.go'
    assert works(ward, script, timeout=300).split() == ['100', 'child', 'hi']


RUST = '''use std::{io::{Read, Write}, net, os::unix::net::UnixStream, process::Command, thread};
fn main() {
    let threads: Vec<_> = (0..20).map(|i| thread::spawn(move || i)).collect();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap()).sum::<i32>());
    print!("{}", String::from_utf8(Command::new("echo").arg("child").output().unwrap().stdout).unwrap());
    let (mut one, mut other) = UnixStream::pair().unwrap();
    one.write_all(b"pair").unwrap(); let mut bytes = [0; 4]; other.read_exact(&mut bytes).unwrap();
    println!("{}", String::from_utf8_lossy(&bytes));
    net::TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::create_dir_all("a/b/c").unwrap();
}
'''


def test_rust(ward):
    needs('rustc', 'cargo')
    ward.file('src/main.rs', RUST)
    ward.file('Cargo.toml', '[package]\nname = "program"\nversion = "0.1.0"\nedition = "2021"\n')
    out = works(ward, 'rustc -o program src/main.rs; ./program; CARGO_HOME=/tmp/cargo cargo run -q --offline', timeout=300)
    assert out.split() == ['190', 'child', 'pair'] * 2


JAVA = '''import java.net.*; import java.nio.file.*; import java.util.concurrent.*;
public class Program {
    public static void main(String[] words) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        System.out.println(pool.submit(() -> 42).get()); pool.shutdown();
        Process child = new ProcessBuilder("echo", "child").start();
        System.out.print(new String(child.getInputStream().readAllBytes()));
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        System.out.println(new Socket(server.getInetAddress(), server.getLocalPort()).isConnected());
        System.out.println(Files.createTempFile("x", "y").startsWith("/tmp"));
        Files.createDirectories(Path.of("a/b"));
    }
}
'''


def test_java(ward):
    needs('javac', 'java')
    ward.file('Program.java', JAVA)
    assert works(ward, 'javac Program.java; java Program', timeout=300).split() == ['42', 'child', 'true', 'true']


def test_chromium_without_its_own_sandbox(ward):
    """It tries to reach the network and to write caches; what is refused to it does not stop it."""
    needs('chromium')
    ward.file('page.html', '<p id=x></p><script>document.getElementById("x").textContent = "computed " + 6 * 7</script>')
    places = ['--env', 'HOME=/tmp', '--env', 'XDG_CONFIG_HOME=/tmp/config']
    result = ward.result(*places, '--timeout', '90s', '--', 'chromium', '--headless', '--no-sandbox', '--disable-gpu', '--dump-dom',
                         f'file://{ward.work}/page.html', timeout=120)
    assert result['exit_code'] == 0 and 'computed 42' in result['stdout'], result['stderr'][-3000:]
    assert {denial['operation'] for denial in result['attempts'][0]['denials']} <= {'write', 'connect', 'unix'}
