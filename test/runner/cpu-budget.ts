/**
 * The CPU seconds that each test file may use, in `test/budget.json`. `npm run check` warns of a file that used half as much again in
 * the last whole run.
 *
 * Machines differ, so a file is measured by the median of all files: a machine that is slower by a third warns of nothing.
 * `npm run budget` writes the figures of the last whole run as the new budget.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type CpuSeconds = Readonly<Record<string, number>>

const ROOT = join(import.meta.dirname, '../..')
/** Written by the reporter at the end of a whole run. */
export const CPU_FIGURES = join(ROOT, 'node_modules/.cache/tollgate-tests/cpu-seconds.json')
const BUDGET = join(ROOT, 'test/budget.json')

/** A file that uses less has no line in the budget: this is its budget. */
const SECONDS_MIN = 2
const EXCESS = 1.5
/** A run of a few files, of which some broke off, says nothing of the machine. */
const FACTOR_MIN = 0.5

if (import.meta.main) writeBudget()

/** Returns a line for each file above its budget; none before the first whole run. */
export function excessOfLastRun(): readonly string[] {
  const used = readFigures(CPU_FIGURES)
  return used === null ? [] : excessOf(used, readBudget())
}

export function readBudget(): CpuSeconds {
  return readFigures(BUDGET) ?? {}
}

export function excessOf(used: CpuSeconds, budget: CpuSeconds): readonly string[] {
  const known = Object.entries(used).filter(([file]) => file in budget)
  const factor = Math.max(FACTOR_MIN, median(known.map(([file, seconds]) => seconds / budget[file]!)) ?? 1)
  return Object.entries(used).flatMap(([file, seconds]) => {
    const allowed = (budget[file] ?? SECONDS_MIN) * factor
    if (seconds <= allowed * EXCESS) return []
    return [`${file} used ${seconds.toFixed(1)} s of CPU; its budget is ${allowed.toFixed(1)} s (test/budget.json)`]
  })
}

/** Returns the files that used most, as one line. */
export function mostUsed(used: CpuSeconds, files: number): string {
  const total = Object.values(used).reduce((sum, seconds) => sum + seconds, 0)
  const most = Object.entries(used).sort(([, a], [, b]) => b - a)
  const shown = most.slice(0, files).map(([file, seconds]) => `${seconds.toFixed(1)} ${file}`)
  return [`${total.toFixed(0)} in ${most.length} files; most:`, ...shown].join('\n  ')
}

function writeBudget(): void {
  const used = readFigures(CPU_FIGURES)
  if (used === null) throw new Error('There are no figures: run `npm run test:all` first.')
  const files = Object.entries(used).filter(([, seconds]) => seconds >= SECONDS_MIN)
  const rounded = files.sort(([a], [b]) => (a < b ? -1 : 1)).map(([file, seconds]) => [file, Math.ceil(seconds)])
  writeFileSync(BUDGET, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`)
}

function readFigures(path: string): CpuSeconds | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as CpuSeconds
  } catch {
    return null
  }
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}
