/** The compliance of a programme with hundreds of activations and drifts. */

import { expect, it } from 'vitest'
import { createProgrammes } from '../../src/control/programmes/programmes.ts'
import { createKeyedMutex } from '../../src/control/command/keyed-mutex.ts'
import { documents } from '../fixtures/documents.ts'
import { createFakeClock } from '../fixtures/fake-clock.ts'
import { ACME, base64, openTestCatalogue } from '../fixtures/test-catalogue.ts'

const DAY_MS = 86_400_000

it('shows the latest of many activations, and counts the drifts of the last 30 days, without those of canaries', async () => {
  const catalogue = openTestCatalogue()
  const { registry, createId } = catalogue
  const clock = createFakeClock(catalogue.clock.nowMs)
  const programmes = createProgrammes({
    registry,
    documents,
    rulesetOf: async () => undefined,
    createId,
    vault: catalogue.vault,
    clock,
    mutex: createKeyedMutex(),
    backendRule: { refuse: async () => null },
  })
  const { id: api } = await programmes.create(ACME, { name: 'Orders', specification: base64(Buffer.from('{}')) })
  const nowMs = clock.nowMs()
  const write = (kind: string, name: string, body: object) => ({
    kind,
    id: name,
    tenant: ACME.tenant,
    expected: 0,
    body,
    keys: { api },
  })
  const numbers = Array.from({ length: 600 }, (_, index) => index)
  const name = (index: number) => String(index).padStart(5, '0')
  const scored = numbers.map((index) =>
    write('compliance', `c${name(index)}`, { revision: index, score: index === 599 ? 99 : 50, scoredAtMs: index }),
  )
  const drifts = numbers.map((index) => {
    const lastSeenMs = index === 599 ? nowMs - DAY_MS : nowMs - 31 * DAY_MS
    return write('drift', `d${name(index)}`, { kind: 'undeclared_status', operation: 'a', detail: 'x', lastSeenMs })
  })
  const seen = { kind: 'undeclared_status', operation: 'a', detail: 'x', lastSeenMs: nowMs - DAY_MS }
  const ofCanary = numbers.slice(0, 9).map((index) => write('drift', `e${name(index)}`, { ...seen, revision: 2 }))
  await registry.commit(ACME, 'test', [...scored, ...drifts, ...ofCanary])

  const compliance = await programmes.compliance(ACME.tenant, api)
  expect(compliance.history).toHaveLength(100)
  expect(compliance.history.slice(0, 2).map(({ revision }) => revision)).toEqual([599, 598])
  expect(compliance.specification).toBe(99)
  expect(compliance.violations).toHaveLength(1)
  expect(compliance.runtime).toBeLessThan(100)
  expect(compliance.score).toBe(compliance.runtime)
})
