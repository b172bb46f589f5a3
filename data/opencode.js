// ward: this file was written by `ward init`, and `ward init --remove` takes it away.
// It asks `ward hook` before OpenCode uses a tool. Whatever goes wrong on the way, the tool is not used.
import { spawn } from "node:child_process"
import { resolve } from "node:path"

const WARD = "@WARD@"
const SECONDS = 60
const MOST = 16 * 1024 * 1024

function ask(question) {
  return new Promise((done, refuse) => {
    const child = spawn(WARD, ["hook"], { stdio: ["pipe", "pipe", "pipe"] })
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      child.stdout.destroy() // which somebody else may hold open
      child.stderr.destroy()
      refuse(new Error(`ward gave no answer in ${SECONDS} seconds, so this is refused`))
    }, SECONDS * 1000)
    const said = { stdout: "", stderr: "" }
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8")
      child[name].on("data", (text) => {
        said[name] += text
        if (said[name].length > MOST) child.kill("SIGKILL")
      })
    }
    child.on("error", (error) => refuse(new Error(`ward could not be asked, so this is refused: ${error.message}`)))
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      if (code === 0) done(said.stdout)
      else refuse(new Error(said.stderr.trim() || `ward gave no answer (${signal ?? code}), so this is refused`))
    })
    child.stdin.on("error", () => {}) // what became of it is told by "close"
    child.stdin.end(JSON.stringify(question))
  })
}

function read(text) {
  const answer = JSON.parse(text)
  const keys = Object.keys(answer)
  if (typeof answer !== "object" || Array.isArray(answer) || keys.length > 1 || keys.some((key) => !["command", "deny"].includes(key) || typeof answer[key] !== "string"))
    throw new Error("this is no answer of ward's")
  return answer
}

export const WardPlugin = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const text = await ask({
      hook_event_name: "tool.execute.before",
      tool: input.tool,
      sessionID: input.sessionID,
      callID: input.callID,
      args: output.args,
      cwd: resolve(directory, (input.tool === "bash" && output.args?.workdir) || "."),
    })
    let answer
    try {
      answer = read(text)
    } catch (error) {
      throw new Error(`ward's answer cannot be read, so this is refused: ${error.message}`)
    }
    if (answer.deny !== undefined) throw new Error(answer.deny)
    if (answer.command !== undefined) output.args.command = answer.command
  },
})
