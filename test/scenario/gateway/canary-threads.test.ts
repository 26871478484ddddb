/** A canary on real gateway threads: all of them serve each caller by the same revision, also after one was replaced. */

import { expect, it } from 'vitest'
import type { CanaryRule } from '../../../src/boundary/plan/canary.ts'
import { toCanaryPlan, type PackedPlan } from '../../../src/boundary/plan/packed-plan.ts'
import { openGatewayPool, token, UNTIL_MS } from '../../fixtures/test-gateway-pool.ts'

/** The canary allows no scopes, so that it answers 403 where the active revision answers 200. */
const withCanary = (plan: PackedPlan, rule: CanaryRule): PackedPlan => ({
  ...plan,
  canary: { rule, plan: toCanaryPlan({ ...plan, revision: 2, allowedScopes: [] }) },
})

it('Every thread serves a caller by the same revision: when a canary begins, changes, survives a thread, and ends', async () => {
  const { callAll, prepare, plan, request, restarts, revokeToken } = await openGatewayPool()
  const serve = async (next: PackedPlan): Promise<void> => (await prepare(next, [])).swap()
  expect(await callAll(token())).toEqual(new Set([200]))
  await serve(withCanary(plan, { consumers: ['con_1'] }))
  expect(await callAll(token())).toEqual(new Set([403]))
  expect(await callAll('none')).toEqual(new Set([401]))
  await serve(withCanary(plan, { consumers: ['con_2'] }))
  expect(await callAll(token())).toEqual(new Set([200]))

  const aborted = await prepare(withCanary(plan, { consumers: ['con_1'] }), [])
  aborted.abort()
  expect(await callAll(token())).toEqual(new Set([200]))
  await serve(withCanary(plan, { consumers: ['con_1', 'con_2'] }))
  await request('/die', '').catch(() => {})
  await restarts
  await revokeToken({ jti: 'tok_9', untilMs: UNTIL_MS })
  expect(await callAll(token())).toEqual(new Set([403]))
  expect(await callAll(token({ jti: 'tok_9' }))).toEqual(new Set([401]))
  await serve(plan)
  expect(await callAll(token())).toEqual(new Set([200]))
})

it('Every thread chooses the same subscriptions for a share, and keeps them when the share grows', async () => {
  const { callAll, prepare, plan } = await openGatewayPool()
  const answers: number[] = []
  for (const percent of [1, 25, 50, 75, 99]) {
    await (await prepare(withCanary(plan, { percent }), [])).swap()
    const statuses = [...(await callAll(token()))]
    expect(statuses).toHaveLength(1)
    answers.push(statuses[0]!)
  }
  expect(answers).toEqual(answers.toSorted((a, b) => a - b))
})
