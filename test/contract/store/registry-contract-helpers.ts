/** Documents, keys and openers for the contract tests of registries. */

import type { Clock } from '../../../src/foundation/runtime/clock.ts'
import { documentKind, type Author, type Registry, type Write } from '../../../src/storage/store/registry.ts'

export const NONE = documentKind<unknown>('none', 'hidden')
export const OTHER = documentKind<unknown>('other', 'hidden')
export const THING = documentKind<unknown>('thing', 'hidden')

/** Opens the same registry on each call, also if the earlier one is still open. */
export type OpenRegistry = (clock: Clock) => Registry | Promise<Registry>

/** Returns an opener of an empty registry. */
export type FreshRegistry = () => OpenRegistry | Promise<OpenRegistry>

export const AUTHOR: Author = { tenant: 'acme', consumer: 'con_1' }

function createSettableClock(): Clock & { nowMs(): number; set(ms: number): void } {
  let nowMs = 1_000
  const never = (): (() => void) => () => {}
  return { nowMs: () => nowMs, set: (ms) => void (nowMs = ms), after: never, every: never }
}

export function write(id: string, expected: number, body: unknown, more: Partial<Write> = {}): Write {
  return { kind: 'thing', id, tenant: 'acme', expected, body, ...more }
}

export const named = (id: string, expected: number, name: string, more: Partial<Write> = {}): Write =>
  write(id, expected, { name }, { keys: { name }, unique: ['name'], ...more })

export const idsOf = (documents: readonly { id: string }[]): string[] => documents.map(({ id }) => id)

/** Returns an opener of an empty registry, and the registry itself with a clock that the test sets. */
export async function startRegistry(fresh: FreshRegistry) {
  const open = await fresh()
  const clock = createSettableClock()
  return { open, clock, registry: await open(clock) }
}
