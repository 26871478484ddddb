/** Access to `/metrics`. */

import { describe, expect, it } from 'vitest'
import type { MetricsAccess } from '../../../../src/interfaces/platform/metrics-access.ts'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'

const TOKEN = 'a-token-for-the-metrics'

async function readMetrics(
  access: MetricsAccess | undefined,
  remoteAddress: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; challenge: unknown }> {
  const platform = await openTestPlatform(access === undefined ? {} : { metricsAccess: access })
  const answer = await platform.server.app.inject({ url: '/metrics', remoteAddress, headers })
  return { status: answer.statusCode, text: answer.body, challenge: answer.headers['www-authenticate'] }
}

describe('/metrics without METRICS_TOKEN and METRICS_PORT', () => {
  it.each(['127.0.0.1', '127.9.8.7', '::1', '::ffff:127.0.0.1'])(
    'answers 200 to the loopback peer %s',
    async (peer) => {
      expect(await readMetrics(undefined, peer)).toMatchObject({ status: 200 })
    },
  )

  it.each(['10.0.0.1', '93.184.216.34', '::ffff:10.0.0.1', 'fe80::1', '2606:4700::1111'])(
    'answers 403 to the peer %s, also with forwarding headers, and shows no metrics',
    async (peer) => {
      for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1' }, { host: 'localhost' }] as const) {
        const { status, text } = await readMetrics(undefined, peer, headers)
        expect(status).toBe(403)
        expect(text).not.toContain('tollgate_')
      }
    },
  )

  it.each(['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'])(
    'answers 403 to a request that a proxy on this machine forwards with %s',
    async (name) => {
      expect(await readMetrics(undefined, '127.0.0.1', { [name]: '93.184.216.34' })).toMatchObject({ status: 403 })
    },
  )
})

describe('/metrics with METRICS_TOKEN', () => {
  const access: MetricsAccess = { kind: 'token', token: TOKEN }

  it('answers 200 to any peer with the token', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-forwarded-for': '93.184.216.34' }
    expect(await readMetrics(access, '10.0.0.1', headers)).toMatchObject({ status: 200 })
  })

  it.each([undefined, 'Bearer ', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`, TOKEN])(
    'answers 401 with a challenge to %s, also on this machine',
    async (authorization) => {
      const answer = await readMetrics(access, '127.0.0.1', authorization === undefined ? {} : { authorization })
      expect(answer).toMatchObject({ status: 401, challenge: 'Bearer' })
      expect(answer.text).not.toContain('tollgate_')
    },
  )
})

describe('/metrics with METRICS_PORT', () => {
  it('answers 404 on the platform port', async () => {
    expect(await readMetrics({ kind: 'elsewhere' }, '127.0.0.1')).toMatchObject({ status: 404 })
  })
})
