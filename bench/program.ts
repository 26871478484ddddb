/** A program that a bench starts, waits for and ends. */

import { spawn } from 'node:child_process'
import { connect } from 'node:net'

export interface Program {
  readonly pid: number
  stop(): Promise<void>
}

export interface ProgramOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** It is up when this port takes a connection. */
  readonly port: number
}

const START_MS_MAX = 10_000

export async function startProgram({ command, args, env = {}, port }: ProgramOptions): Promise<Program> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let failure: Error | null = null
  child.once('error', (error) => (failure = error))

  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await ended
  }
  for (const endMs = performance.now() + START_MS_MAX; performance.now() < endMs;) {
    if (failure !== null) throw failure
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`)
    if (await takesConnections(port)) return { pid: child.pid ?? 0, stop }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await stop()
  throw new Error(`${command} did not listen on ${port}`)
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
