/* SPDX-License-Identifier: Apache-2.0 */
/* A program that starts ward for its requests, as an agent's own would: its standard input and
 * output are ward's. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t child;
	int status;

	if (argc < 2)
		return 2;
	child = fork();
	if (child == 0) {
		execl(argv[1], "ward", "serve", "--stdio", NULL);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
