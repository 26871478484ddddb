import { describe, expect, it } from 'vitest'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const REASON = '<img src=x onerror=alert(1)>\u202e load test\nof the partner'
const PARTY = { kind: 'consumer', id: 'con_1', name: 'Shop' } as const
const inFuture = (ms: number): string => new Date(NOW_MS + ms).toISOString()

function open(platform: TestPlatform, fields: Partial<RiskEvent> = {}): string {
  const event = riskEvent({ attributedTo: PARTY, ...fields })
  platform.risks.positions.push({ event, state: event.phase === 'cleared' ? 'cleared' : 'open' })
  platform.risks.history.push(event)
  return event.riskId
}

async function openPlatform(scopes?: readonly string[]) {
  const platform = await openTestPlatform()
  const token = platform.token('acme', scopes)
  const send = (method: string, path: string, body?: unknown) => platform.send(method, path, { token, body })
  const mute = (riskId: string, body: object = { until: inFuture(MINUTE_MS), reason: REASON }) =>
    send('POST', `/v1/risks/${riskId}/mutes`, body)
  const idsOf = async (path: string): Promise<readonly unknown[]> =>
    ((await send('GET', path)).body['items'] as { id: string }[]).map(({ id }) => id)
  return { platform, send, mute, idsOf }
}

describe('A mute', () => {
  it('is shown with its episode, in the position and beside the timeline, with the reason as it was written', async () => {
    const { platform, send, mute } = await openPlatform()
    const [muted, other] = [open(platform), open(platform, { api: 'orders-v1' })]
    const { status, body } = await mute(muted)
    expect([status, body]).toMatchObject([201, { riskId: muted, state: 'Active', reason: REASON, endedAt: null }])
    const shown = { id: body['id'], until: inFuture(MINUTE_MS), reason: REASON }
    expect((await send('GET', '/v1/risks')).body['items']).toMatchObject([
      { id: muted, mute: shown },
      { id: other, mute: null },
    ])
    expect((await send('GET', `/v1/risks/${muted}`)).body['mute']).toEqual(shown)
    expect((await send('GET', `/v1/risks/${other}`)).body['mute']).toBeNull()
  })

  it('is for the next episode of the same type, API and party as well, and for no other', async () => {
    const { platform, mute, idsOf } = await openPlatform()
    await mute(open(platform, { phase: 'cleared' }))
    const next = open(platform)
    const others = [
      open(platform, { type: 'AuthFailure403' }),
      open(platform, { api: 'orders-v1' }),
      open(platform, { attributedTo: { ...PARTY, id: 'con_2' } }),
      open(platform, { attributedTo: { kind: 'agent', id: 'con_1', name: 'Shop' } }),
      open(platform, { attributedTo: { kind: 'agent', id: 'bot', name: 'bot', consumer: 'con_1' } }),
    ]
    expect(await idsOf('/v1/risks?muted=true')).toEqual([next])
    expect(await idsOf('/v1/risks?muted=false')).toEqual(others)
    expect(await idsOf('/v1/risks?muted=false&limit=2')).toEqual(others.slice(0, 2))
    expect(await idsOf(`/v1/risks/${next}/mutes`)).toHaveLength(1)
    expect(await idsOf(`/v1/risks/${others[0]}/mutes`)).toEqual([])
  })

  it('is the only active one of its episode, and makes room for another when it is ended', async () => {
    const { platform, send, mute, idsOf } = await openPlatform()
    const risk = open(platform)
    const { body: first } = await mute(risk)
    expect(await mute(risk)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    const path = `/v1/risks/${risk}/mutes/${String(first['id'])}`
    expect((await send('DELETE', path)).status).toBe(204)
    expect(await send('DELETE', path)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    expect((await mute(risk)).status).toBe(201)
    expect(await idsOf('/v1/mutes?state=Ended')).toEqual([first['id']])
    expect(await idsOf('/v1/mutes')).toHaveLength(2)
    expect(await idsOf('/v1/mutes?api=orders-v1')).toEqual([])
  })

  it('is no longer shown from its end on, and another can be made at once', async () => {
    const { platform, send, mute } = await openPlatform()
    const risk = open(platform)
    await mute(risk)
    await platform.clock.advance(MINUTE_MS)
    expect((await send('GET', `/v1/risks/${risk}`)).body['mute']).toBeNull()
    expect((await send('GET', '/v1/risks')).body['items']).toMatchObject([{ mute: null }])
    expect((await send('GET', '/v1/mutes')).body['items']).toMatchObject([
      { state: 'Ended', endedAt: inFuture(MINUTE_MS) },
    ])
    expect((await mute(risk, { until: inFuture(DAY_MS), reason: 'Again' })).status).toBe(201)
    expect((await send('GET', '/v1/mutes?state=Active')).body['items']).toMatchObject([{ reason: 'Again' }])
  })

  it('can be ended when the episode is no longer kept, through the episode that it was made for', async () => {
    const { platform, send, mute } = await openPlatform()
    const [risk, other] = [open(platform), open(platform, { api: 'orders-v1' })]
    const { body } = await mute(risk)
    platform.risks.positions.splice(0, 1)
    expect((await send('DELETE', `/v1/risks/${other}/mutes/${String(body['id'])}`)).status).toBe(404)
    expect((await send('DELETE', `/v1/risks/${risk}/mutes/${String(body['id'])}`)).status).toBe(204)
  })

  it.each([
    ['an end in the past', { until: inFuture(-1) }, '/until'],
    ['an end that is too far away', { until: inFuture(91 * DAY_MS) }, '/until'],
    ['no time', { until: 'tomorrow' }, '/until'],
    ['a leap second', { until: '2027-01-31T23:59:60Z' }, '/until'],
    ['an empty reason', { reason: '' }, '/reason'],
    ['a reason that is too long', { reason: 'x'.repeat(2_001) }, '/reason'],
    ['a reason with a control character', { reason: 'a\u0000b' }, '/reason'],
    ['a reason with half a character', { reason: 'a\ud800b' }, '/reason'],
    ['a member that is not known', { severity: 'Info' }, '/severity'],
  ])('is refused with %s', async (_, fields, pointer) => {
    const { platform, mute, idsOf } = await openPlatform()
    const answer = await mute(open(platform), { until: inFuture(MINUTE_MS), reason: 'Known', ...fields })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
    expect(await idsOf('/v1/mutes')).toEqual([])
  })

  it('is audited with what it was before and after', async () => {
    const { platform, send, mute } = await openPlatform()
    const { body } = await mute(open(platform))
    await send('DELETE', `/v1/risks/${String(body['riskId'])}/mutes/${String(body['id'])}`)
    const active = { reason: REASON, api: 'payments-v1', mutedBy: 'con_acme' }
    expect((await send('GET', '/v1/audit?kind=mute')).body['items']).toMatchObject([
      { action: 'mute.end', before: active, after: { ...active, endedAtMs: NOW_MS } },
      { action: 'mute.create', before: null, after: active },
    ])
  })

  it('hides nothing from the stream: its events are the same', async () => {
    const { platform, mute } = await openPlatform()
    const heard: RiskEvent[] = []
    await platform.risks.subscribe('acme', null, (event) => heard.push(event))
    await mute(open(platform))
    const event = riskEvent({ attributedTo: PARTY })
    platform.risks.publish(event)
    expect(heard).toEqual([event])
  })
})

describe('A consumer with the own width', () => {
  it('sees its risks without mutes and their reasons, and can make none', async () => {
    const platform = await openTestPlatform()
    const admin = platform.token('acme')
    const risk = open(platform)
    const body = { until: inFuture(MINUTE_MS), reason: REASON }
    const { body: made } = await platform.send('POST', `/v1/risks/${risk}/mutes`, { token: admin, body })
    const token = platform.token('acme', ['risks:read:own'], undefined, { consumer: 'con_1' })
    const list = await platform.send('GET', '/v1/risks', { token })
    expect(list.body['items']).toMatchObject([{ id: risk, mute: null }])
    expect((await platform.send('GET', `/v1/risks/${risk}`, { token })).body['mute']).toBeNull()
    expect((await platform.send('GET', '/v1/risks?muted=true', { token })).body['items']).toEqual([])
    const attempts = await Promise.all([
      platform.send('POST', `/v1/risks/${risk}/mutes`, { token, body }),
      platform.send('GET', `/v1/risks/${risk}/mutes`, { token }),
      platform.send('DELETE', `/v1/risks/${risk}/mutes/${String(made['id'])}`, { token }),
      platform.send('GET', '/v1/mutes', { token }),
    ])
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  })

  it('does not make a mute with the scope to read alone', async () => {
    const { platform, mute } = await openPlatform(['risks:read'])
    expect((await mute(open(platform))).status).toBe(403)
  })
})
