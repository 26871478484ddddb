/**
 * CPU time that a process and its children, or the threads of a process, have used so far.
 *
 * Of a process: user and system time of `/proc/<pid>/stat` (fields 14 and 15), in ticks of 10 ms. Of a thread: its time on a
 * processor in `schedstat`, in nanoseconds.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'

const MS_PER_TICK = 10

export function processCpuMs(pid: number): number {
  return statCpuMs(`/proc/${pid}/stat`) + childrenOf(pid).reduce((sum, child) => sum + processCpuMs(child), 0)
}

export interface ThreadCpu {
  readonly id: number
  readonly name: string
  readonly cpuMs: number
}

export function threadsCpu(pid: number): readonly ThreadCpu[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const path = `/proc/${pid}/task/${task}`
    try {
      return { id: Number(task), name: readFileSync(`${path}/comm`, 'utf8').trim(), cpuMs: runtimeMs(path) }
    } catch (cause) {
      // The thread has ended since it was listed.
      if (existsSync(path)) throw cause
      return []
    }
  })
}

function runtimeMs(path: string): number {
  return Number(readFileSync(`${path}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

/** The name in a stat line may hold spaces and parentheses; fields count from behind the last one. */
function statCpuMs(path: string): number {
  const text = readFileSync(path, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
}
