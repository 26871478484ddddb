/** Every 409 `state_conflict` names the state and what it allows; the answers of all test platforms are checked for both. */

import { expect, it } from 'vitest'
import { stepFlow } from '../../../src/control/approvals/approval-document.ts'
import { approvalFlow } from '../../../src/control/approvals/approval-machine.ts'
import { begin } from '../../../src/control/command/persisted-machine.ts'
import { GROUPS } from '../../../src/interfaces/cli/resources/resource-groups.ts'
import { CONFLICT_ACTIONS } from '../../../src/foundation/domain/problem.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { NOW_MS, openTestPlatform } from '../../fixtures/test-platform.ts'

async function setUp() {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const send = (method: string, path: string, body?: unknown) =>
    platform.send(method, path, { token, ...(body !== undefined && { body }) })
  const made = await publishApi(platform, token)
  return { platform, send, ...made }
}

const conflict = (state: string, allowed: readonly string[]) => ({
  status: 409,
  body: { code: 'state_conflict', state, allowed },
})

it('409 for a delivery to a disabled receiver', async () => {
  const { send, receiver } = await setUp()
  const path = `/v1/eventsubscriptions/${receiver}`
  await send('PATCH', path, { state: 'disabled' })
  expect(await send('POST', `${path}/test`, { type: 'SlaChanged' })).toMatchObject(conflict('disabled', ['update']))
})

it('409 for a subscription of a disabled consumer', async () => {
  const { send, consumer } = await setUp()
  await send('POST', `/v1/consumers/${consumer}/disable`)
  const answer = await send('POST', '/v1/subscriptions', { consumer, api: 'payments-v1' })
  expect(answer).toMatchObject(conflict('Disabled', ['enable']))
})

it('409 for a second mute of an episode, and for the end of a mute that has ended', async () => {
  const { platform, send } = await setUp()
  const event = riskEvent()
  platform.risks.positions.push({ event, state: 'open' })
  const path = `/v1/risks/${event.riskId}/mutes`
  const body = { until: new Date(NOW_MS + 60_000).toISOString(), reason: 'Known' }
  const { body: mute } = await send('POST', path, body)
  expect(await send('POST', path, body)).toMatchObject(conflict('Active', ['unmute']))
  expect((await send('DELETE', `${path}/${String(mute['id'])}`)).status).toBe(204)
  expect(await send('DELETE', `${path}/${String(mute['id'])}`)).toMatchObject(conflict('Ended', []))
})

it('409 for the removal of a ruleset in force, of a built-in role and of a role that people hold', async () => {
  const { send } = await setUp()
  const { body: ruleset } = await send('POST', '/v1/rulesets', { rules: { 'info-contact': 'off' } })
  const approval = { minScore: 80, allowErrors: false, allowBreaking: false, exposures: [] }
  await send('PUT', '/v1/policy', { approval, ruleset: ruleset['id'] })
  expect(await send('DELETE', `/v1/rulesets/${String(ruleset['id'])}`)).toMatchObject(conflict('in force', ['set']))
  expect(await send('DELETE', '/v1/roles/owner')).toMatchObject(conflict('builtIn', []))
  await send('POST', '/v1/roles', { name: 'readers', scopes: ['apis:read'] })
  await send('POST', '/v1/users', { username: 'ada', name: 'Ada', roles: [{ role: 'readers' }] })
  expect(await send('DELETE', '/v1/roles/readers')).toMatchObject(conflict('held', []))
})

it('409 for an invitation of a disabled user', async () => {
  const { send } = await setUp()
  const { body: user } = await send('POST', '/v1/users', { username: 'ada', name: 'Ada' })
  const path = `/v1/users/${String(user['id'])}`
  await send('POST', `${path}/disable`)
  expect(await send('POST', `${path}/invite`)).toMatchObject(conflict('Disabled', ['enable']))
})

it('409 for the removal of an API that is a member of a product', async () => {
  const { send, product, subscription, waiting } = await setUp()
  for (const each of [subscription, waiting]) await send('POST', `/v1/subscriptions/${each}/cancel`)
  const answer = await send('DELETE', '/v1/apis/payments-v1')
  expect(answer).toMatchObject(conflict('Active', []))
  expect(answer.body['products']).toEqual([product])
})

it('409 for a change that the state of a resource does not allow names the commands that it allows', async () => {
  const { send, subscription, waiting } = await setUp()
  const path = `/v1/subscriptions/${subscription}`
  expect(await send('POST', `${path}/resume`)).toMatchObject(conflict('Active', ['cancel', 'suspend']))
  await send('POST', `${path}/suspend`)
  expect(await send('POST', `${path}/suspend`)).toMatchObject(conflict('Suspended', ['cancel', 'resume']))
  expect(await send('POST', `/v1/subscriptions/${waiting}/suspend`)).toMatchObject(
    conflict('Pending', ['decide', 'cancel']),
  )
  await send('POST', `/v1/subscriptions/${waiting}/cancel`)
  expect(await send('POST', '/v1/apis/payments-v1/retire', {})).toMatchObject(conflict('Active', ['deprecate']))
})

it.each([
  ['subscription', ['set-scopes', 'cancel']],
  ['tierChange', ['change-tier']],
  ['programme', ['update']],
] as const)('names what can be done about a request that is to be amended: %s', (kind, allowed) => {
  const fresh = begin(approvalFlow, { requester: 'ada' })
  const opened = stepFlow({ kind, actor: fresh }, { type: 'opened' })
  const returned = stepFlow({ kind, actor: opened }, { type: 'amendment.required', approver: 'bob' })
  const again = () => stepFlow({ kind, actor: returned }, { type: 'approved', approver: 'bob' })
  expect(again).toThrow(expect.objectContaining({ extensions: { state: 'AmendmentRequired', allowed } }))
})

it('names the allowed commands of a conflict as the command line tool does', () => {
  const names = new Set(GROUPS.flatMap(({ commands }) => commands.map(({ name }) => name)))
  expect(CONFLICT_ACTIONS.filter((action) => action !== 'force' && !names.has(action))).toEqual([])
})
