import { describe, expect, it } from 'vitest'
import { riskEvent } from '../../../fixtures/risk-event.ts'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'

describe('the risk position', () => {
  it('has one item per episode, with its riskId, and lists open episodes by default', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const [open, next, cleared] = [riskEvent(), riskEvent(), riskEvent({ phase: 'cleared' })]
    platform.risks.positions.push({ event: open, state: 'open' }, { event: next, state: 'open' })
    platform.risks.positions.push({ event: cleared, state: 'cleared' })

    const first = await platform.send('GET', '/v1/risks?limit=1', { token })
    expect(first.body['items']).toMatchObject([{ id: open.riskId, riskId: open.riskId, state: 'open' }])
    const second = await platform.send('GET', `/v1/risks?limit=1&cursor=${String(first.body['next'])}`, { token })
    expect(second.body).toMatchObject({ items: [{ id: next.riskId }], next: null })
    const past = await platform.send('GET', '/v1/risks?state=cleared&severity=Warning', { token })
    expect(past.body['items']).toMatchObject([{ id: cleared.riskId, state: 'cleared' }])
    expect((await platform.send('GET', '/v1/risks?severity=Severe', { token })).status).toBe(400)
  })

  it('has the channel of an episode, which is mcp if at least one event came over it', async () => {
    const platform = await openTestPlatform()
    const { evidence } = riskEvent()
    for (const each of [evidence, { ...evidence, channels: { mcp: 1 } }]) {
      platform.risks.positions.push({ event: riskEvent({ evidence: each }), state: 'open' })
    }
    const { body } = await platform.send('GET', '/v1/risks', { token: platform.token('acme') })
    expect(body['items']).toMatchObject([
      { evidence: { channel: 'http' } },
      { evidence: { channel: 'mcp', channels: { mcp: 1 } } },
    ])
  })

  it('shows one episode with its timeline, and no episode of another tenant', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const opened = riskEvent()
    const escalated = riskEvent({ riskId: opened.riskId, phase: 'escalated', severity: 'Critical' })
    platform.risks.history.push(opened, escalated, riskEvent())
    platform.risks.positions.push({ event: escalated, state: 'open' })
    const shown = await platform.send('GET', `/v1/risks/${opened.riskId}`, { token })

    expect(shown).toMatchObject({ status: 200, body: { id: opened.riskId, state: 'open', severity: 'Critical' } })
    expect(shown.body['timeline']).toMatchObject([
      { id: opened.id, phase: 'opened' },
      { id: escalated.id, phase: 'escalated', severity: 'Critical' },
    ])
    expect(shown.text).not.toContain('acme')
    const foreign = await platform.send('GET', `/v1/risks/${opened.riskId}`, { token: platform.token('rival') })
    expect(foreign.status).toBe(404)
    expect((await platform.send('GET', '/v1/risks/rsk_none', { token })).status).toBe(404)
  })
})
