import { expect, it } from 'vitest'
import type { Caller } from '../../../src/plan/caller.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { endsOf, listen, read } from '../../fixtures/risk-reader.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'

it('A stream ends before the answer to a command that takes the access of its credential away', async () => {
  const { platform, port } = await listen()
  const admin = platform.token('acme')
  const { subscription, credential } = await publishApi(platform, admin)
  const token = platform.token('acme')
  const caller = platform.callers.get(token) as Caller
  platform.callers.set(token, { ...caller, grant: { ...caller.grant, credential } })
  const [reader, other] = [read(port, token), read(port, platform.token('acme'))]
  await Promise.all([reader.seen('retry'), other.seen('retry')])
  await platform.send('POST', `/v1/subscriptions/${subscription}/suspend`, { token: admin })
  expect(await endsOf(platform)).toContain('risk_stream_ends_total{reason="credential_closed"} 1')
  await reader.ended
  platform.risks.publish(riskEvent({ message: 'after the suspension' }))
  await other.seen('after the suspension')
  expect(reader.text()).not.toContain('after the suspension')
})
