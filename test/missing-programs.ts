/** Reports how many tests each missing program has cost, and the command that installs all of them. */

import { missingPrograms } from './programs.ts'

/** The part of a test module of vitest that the report needs. */
interface Module {
  readonly children: { allTests(state: 'skipped'): Iterable<{ readonly tags: readonly string[] }> }
}

/** Returns a line for each missing program that a test needs, and one for `apt-get`. A test that needs two of them counts for both. */
export function describeMissing(modules: readonly Module[], missing = missingPrograms()): readonly string[] {
  const tests = modules.flatMap(({ children }) => [...children.allTests('skipped')])
  const costs = missing
    .map((program) => ({ program, count: tests.filter(({ tags }) => tags.includes(program.name)).length }))
    .filter(({ count }) => count > 0)
  const packages = [...new Set(costs.flatMap(({ program }) => program.package ?? []))].toSorted()
  return [
    ...costs.map(({ program, count }) => `without ${program.name}: ${count} ${count === 1 ? 'test' : 'tests'} skipped`),
    ...(packages.length > 0 ? [`apt-get install -y --no-install-recommends ${packages.join(' ')}`] : []),
  ]
}
