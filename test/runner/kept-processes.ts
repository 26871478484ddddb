/** Processes that a worker keeps for its later files. */

import { childrenOf } from './processes.ts'

const worker = globalThis as { keptProcesses?: Set<number> }

/** The processes that `start` starts, and those that they start, are not left behind by the file. */
export async function keepingChildren<T>(start: () => Promise<T>): Promise<T> {
  const before = new Set(childrenOf(process.pid))
  const started = await start()
  const kept = (worker.keptProcesses ??= new Set())
  for (const pid of childrenOf(process.pid)) if (!before.has(pid)) kept.add(pid)
  return started
}

export const isKept = (pid: number): boolean => worker.keptProcesses?.has(pid) ?? false
