/** A backend in a process of its own, which can be killed and started again on the same port. */

import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { OWN_ADDRESS, ownPort, ownUrl } from '../fixtures/own-address.ts'

/** Prints `<method> <path>` of each request before it responds. */
const PROGRAM = `
  const { writeSync } = require('node:fs')
  const { createServer } = require('node:http')
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      writeSync(1, request.method + ' ' + request.url + '\\n')
      response.end('ok')
    })
  })
  server.listen(Number(process.argv[2]), process.argv[1], () => writeSync(1, 'listening\\n'))
`

export interface BackendProcess {
  readonly url: string
  /** Requests that have arrived, over all starts. */
  readonly received: readonly string[]
  start(): Promise<void>
  /** SIGSTOP: it accepts connections and responds to nothing. */
  pause(): void
  resume(): void
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
}

export async function createBackendProcess(): Promise<BackendProcess> {
  const port = await ownPort()
  const received: string[] = []
  let child: ChildProcess | null = null

  return {
    url: ownUrl(port),
    received,
    async start() {
      const args = ['-e', PROGRAM, OWN_ADDRESS, String(port)]
      const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      child = started
      await new Promise<void>((resolve, reject) => {
        started.once('exit', (code) => reject(new Error(`the backend ended with ${code}`)))
        createInterface(started.stdout).on('line', (line) => {
          if (line === 'listening') resolve()
          else received.push(line)
        })
      })
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    async kill() {
      const ended = child
      child = null
      if (ended === null) return
      // `close` comes after the last line of the output.
      const closed = new Promise((resolve) => ended.once('close', resolve))
      ended.kill('SIGKILL')
      await closed
    },
  }
}
