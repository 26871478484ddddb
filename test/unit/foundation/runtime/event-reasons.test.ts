/** Compares the reasons of `tollgate_events_total` with `docs/operations.md` and with the code that counts them. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isOutcome } from '../../../../src/foundation/domain/outcome.ts'
import { createEventCounter, createMetrics } from '../../../../src/foundation/runtime/metrics.ts'
import { EVENT_REASONS, type EventReason } from '../../../../src/foundation/runtime/event-reasons.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const LIST = 'src/foundation/runtime/event-reasons.ts'

const reasons = Object.keys(EVENT_REASONS)
const docs = new Map(
  globSync('docs/**/*.md', { cwd: ROOT }).map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
)
const code = globSync('src/**/*.ts', { cwd: ROOT })
  .filter((file) => file !== LIST)
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n')

it('documents each reason with its description, in the order of the list, and no other reason', () => {
  const [, section = ''] = docs.get('docs/operations.md')!.split('### Reasons of `tollgate_events_total`\n')
  const [table = ''] = section.split(/^#/m)
  const rows = [...table.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, reason, description]) => [reason, description])
  expect(rows).toEqual(Object.entries(EVENT_REASONS))
})

it('lists each reason that a page of the docs names', () => {
  const named = [...docs.values()].flatMap((text) => [...text.matchAll(/reason="(\w+)"/g)].map(([, reason]) => reason!))
  expect(named.filter((reason) => !reasons.includes(reason) && !isOutcome(reason))).toEqual([])
})

it('lists no reason that the code does not count', () => {
  // A reason is a literal, or begins with the constant part of a template such as `webhook_${failure}`.
  const prefixes = [...code.matchAll(/`([a-z]+(?:_[a-z]+)*_)\$\{/g)].map(([, prefix]) => prefix!)
  const isCounted = (reason: string): boolean =>
    code.includes(`'${reason}'`) || prefixes.some((prefix) => reason.startsWith(prefix))
  expect(reasons.filter((reason) => !isCounted(reason))).toEqual([])
})

it('lists the reasons in alphabetical order', () => {
  expect(reasons).toEqual([...reasons].sort())
})

it('counts by reason, one event unless a number is given', async () => {
  const metrics = createMetrics()
  const count = createEventCounter(metrics)
  count('flush_failed')
  count('request_log_skipped', 3)
  // @ts-expect-error: a misspelt reason does not compile
  const misspelt: EventReason = 'flush_faild'
  expect(reasons).not.toContain(misspelt)
  expect(await metrics.registry.getSingleMetric('tollgate_events_total')?.get()).toMatchObject({
    values: [
      { labels: { reason: 'flush_failed' }, value: 1 },
      { labels: { reason: 'request_log_skipped' }, value: 3 },
    ],
  })
})
