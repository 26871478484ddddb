/**
 * Prints a line for each test file, with the CPU seconds that it used; then the failures, and the files that used most.
 *
 * The figures of a whole run are written to `node_modules/.cache`, where `npm run check` compares them with `test/budget.json`.
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SerializedError } from 'vitest'
import { DefaultReporter, type TestModule, type TestRunEndReason, type TestSpecification } from 'vitest/node'
import { CPU_FIGURES, mostUsed } from './cpu-budget.ts'
import { isWholeRun, takeWritten } from './forks-pool.ts'
import { descendantsOf, killAll, processesNaming } from './processes.ts'

const FILES_SHOWN = 10

export class FileReporter extends DefaultReporter {
  #isWhole = false

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#isWhole = isWholeRun(this.ctx)
    super.onTestRunStart(specifications)
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, errors, reason)
    const figures = cpuSecondsOf(modules)
    this.log(`CPU seconds, child processes included: ${mostUsed(figures, FILES_SHOWN)}`)
    if (this.#isWhole) save(figures)
    for (const module of modules) {
      // The process has died, so that the file has no result.
      if (module.state() === 'pending' || module.state() === 'queued') this.#printWritten(module)
      for (const left of module.meta().leftBehind ?? []) this.log(`${module.relativeModuleId} left a process: ${left}`)
    }
    this.#endOrphans()
  }

  protected override printTestModule(module: TestModule): void {
    if (module.state() === 'failed') {
      super.printTestModule(module)
      this.#printWritten(module)
      return
    }
    const tests = [...module.children.allTests()]
    const skipped = tests.filter((test) => test.result().state === 'skipped').length
    const counts = `${tests.length} tests${skipped > 0 ? `, ${skipped} skipped` : ''}`
    const wall = (module.diagnostic().duration / 1_000).toFixed(1)
    const cpu = (module.meta().cpuSeconds ?? 0).toFixed(1)
    this.log(` ${this.getEntityPrefix(module)} ${module.relativeModuleId} (${counts}) ${wall} s, CPU ${cpu} s`)
  }

  #printWritten(module: TestModule): void {
    const text = takeWritten(module.moduleId)
    if (text !== '') this.log(`The process of ${module.relativeModuleId} printed:\n${text}`)
  }

  /** Processes that have lost their parents name the temporary folder of this run, in memory or on a disk. */
  #endOrphans(): void {
    const own = new Set(descendantsOf(process.pid).map(({ pid }) => pid))
    const folders = new Set([process.env['TEST_DISK_DIR'], process.env['TEST_MEMORY_DIR']])
    const named = [...folders].flatMap((folder) => (folder === undefined ? [] : processesNaming(folder)))
    const orphans = [...new Map(named.map((each) => [each.pid, each])).values()].filter(({ pid }) => !own.has(pid))
    for (const { pid, command } of orphans) this.log(`left by a process that has ended: ${pid} ${command}`)
    killAll(orphans)
  }
}

function cpuSecondsOf(modules: readonly TestModule[]): Readonly<Record<string, number>> {
  const figures: Record<string, number> = {}
  for (const module of modules) {
    const { relativeModuleId: file } = module
    figures[file] = (figures[file] ?? 0) + (module.meta().cpuSeconds ?? 0)
  }
  return figures
}

function save(figures: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(CPU_FIGURES), { recursive: true })
  writeFileSync(CPU_FIGURES, JSON.stringify(figures))
}
