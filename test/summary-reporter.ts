/**
 * Ends a test run with one line for machines and hurried people: `N passed, N failed`, and
 * `, N skipped` behind it where something was skipped.
 *
 * Whatever keeps a run from being good counts as failed, so that the line never looks better than the
 * exit code: a file that cannot be loaded, an error outside of any test, and the checks beside the
 * tests (types, format), whose verdict arrives as `CHECK_FAILED=1` (`runner/check-beside.ts`).
 */

import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'
import { describeMissing } from './missing-programs.ts'

export interface Summary {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const { passed, failed, skipped } = summarise(modules)
    process.once('exit', () => {
      for (const line of describeMissing(modules)) console.log(line)
      const others = unhandledErrors.length + (process.env['CHECK_FAILED'] === '1' ? 1 : 0)
      console.log(toLine({ passed, failed: failed + others, skipped }))
    })
  }
}

function toLine({ passed, failed, skipped }: Summary): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function summarise(modules: readonly TestModule[]): Summary {
  let passed = 0
  let failed = 0
  let skipped = 0
  for (const module of modules) {
    failed += module.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') passed++
      else if (state === 'skipped') skipped++
      else failed++
    }
  }
  return { passed, failed, skipped }
}
