/**
 * Runs a module of this package as a process of its own, with the terminal and the signals of this one.
 *
 * Ctrl-C in a terminal reaches the child twice, directly and forwarded; the modules take both for one.
 */

import { spawn } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { constants } from 'node:os'
import { compileCacheEnvironment } from './compile-cache.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Shells report the end by a signal as 128 and its number. */
const EXIT_SIGNAL = 128

/**
 * Replaces this process with the module, which keeps its process id: signals arrive directly, and no second Node takes memory for as
 * long as the module runs. Runs it as a child where the system cannot do that.
 */
export function becomeModule(path: string, args: readonly string[]): Promise<number> {
  try {
    // Node skips what it does at an exit.
    flushCompileCache()
    process.execve?.(process.execPath, [process.execPath, path, ...args], environment())
  } catch {
    // Windows, or a thread.
  }
  return runModule(path, args)
}

/** Resolves with the exit code. */
export async function runModule(path: string, args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [path, ...args], { stdio: 'inherit', env: environment() })
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal)
  for (const signal of SIGNALS) process.on(signal, forward)
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('exit', (code, signal) =>
        resolve(code ?? EXIT_SIGNAL + (signal === null ? 0 : constants.signals[signal])),
      )
    })
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward)
  }
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, ...compileCacheEnvironment() }
}
