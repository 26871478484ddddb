import { expect, it } from 'vitest'
import { createSignInFaults } from '../../../../../src/control/identity/federation/sign-in-faults.ts'

it('Faults of a provider are all counted, and logged once in ten seconds', () => {
  let nowMs = 0
  const [counted, logged]: string[][] = [[], []]
  const report = createSignInFaults({
    clock: { nowMs: () => nowMs },
    count: (reason) => void counted!.push(reason),
    log: { warn: (fields: object) => void logged!.push(JSON.stringify(fields)) },
  })
  for (nowMs of [0, 1, 9_999, 10_000]) report('idp_1', `fault at ${nowMs}`)
  report('idp_2', 'other')
  expect(counted).toHaveLength(5)
  expect(logged!.map((line) => JSON.parse(line) as object)).toEqual([
    { provider: 'idp_1', fault: 'fault at 0' },
    { provider: 'idp_1', fault: 'fault at 10000' },
    { provider: 'idp_2', fault: 'other' },
  ])
})
