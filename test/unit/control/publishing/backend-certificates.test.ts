import { X509Certificate } from 'node:crypto'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PlanHead } from '../../../../src/boundary/plan/packed-plan.ts'
import type { BackendTls } from '../../../../src/boundary/plan/route-plan.ts'
import {
  watchBackendCertificates,
  type BackendCertificatesOptions,
} from '../../../../src/control/publishing/backend-certificates.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createTestAuthority, type Certificate } from '../../../fixtures/test-certificates.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const SECRET = 'names-of-certificates-stay-out.example'

const authority = createTestAuthority()
afterAll(() => authority.remove())
/** Certificates that expire after so many days. */
const [short, middle, long] = [5, 15, 200].map((days) => authority.sign(SECRET, days)) as [
  Certificate,
  Certificate,
  Certificate,
]
const endOf = ({ cert }: Certificate): number => new X509Certificate(cert).validToDate.getTime()
const dayOf = (certificate: Certificate): string => new Date(endOf(certificate)).toISOString().slice(0, 10)
const clientOf = (...chain: readonly Certificate[]): BackendTls => ({
  certificate: chain.map(({ cert }) => cert.toString()).join(''),
  key: 'ciphertext',
})
const caOf = (...certificates: readonly Certificate[]): BackendTls => ({
  ca: certificates.map(({ cert }) => cert.toString()).join(''),
})

interface Served {
  readonly tenant?: string
  readonly revision?: number
  readonly state?: PlanHead['state']
  readonly tls?: BackendTls
  readonly canary?: BackendTls
}

function planOf(api: string, { tenant = 'acme', revision = 7, state = 'Active', tls, canary }: Served): PlanHead {
  const of = (own: BackendTls | undefined) => ({
    origin: 'https://a.example',
    basePath: '',
    timeoutMs: 1,
    mayBePrivate: false,
    ...(own !== undefined && { tls: own }),
  })
  const head = { api, tenant, revision, state, allowedScopes: [], backend: of(tls) }
  const beside = { ...head, revision: revision + 1, backend: of(canary) }
  return {
    ...head,
    memberOfProductIds: [],
    ...(canary !== undefined && { canary: { rule: { percent: 10 }, plan: beside } }),
  }
}

/** A watch whose clock is `days` before the end of the certificate that expires first. */
function open(days: number, { isFull = false } = {}) {
  const clock = createFakeClock(endOf(short) - days * DAY_MS)
  const notes: (readonly unknown[])[] = []
  const logged: string[] = []
  const log = (_: unknown, text: string): void => void logged.push(text)
  const watch = watchBackendCertificates({
    clock,
    log: { error: log, warn: log } as BackendCertificatesOptions['log'],
    recorder: {
      async note(...note) {
        if (isFull) throw new Error('spool full')
        notes.push(note)
      },
    },
  })
  onTestFinished(watch.stop)
  const pass = (ms = MINUTE_MS) => clock.advance(ms)
  return { ...watch, clock, notes, logged, pass }
}

const clientText = (api: string, revision: number, of: Certificate): string =>
  `client certificate for the backend of ${api}, revision ${revision}, until ${dayOf(of)}`

describe('a client certificate for a backend', () => {
  it('is a risk of the tenant of its API from three weeks before it expires', async () => {
    const { serve, notes, pass } = open(21)
    serve(planOf('orders-v1', { tls: clientOf(short) }))
    expect(notes).toEqual([])
    await pass()
    expect(notes).toEqual([['certificate_expiring', 'acme', 'orders-v1', null, clientText('orders-v1', 7, short)]])
  })

  it('is no risk before, and none of an API without one', async () => {
    const { serve, notes, pass } = open(22)
    serve(planOf('orders-v1', { tls: clientOf(short) }))
    serve(planOf('plain-v1', {}))
    await pass()
    expect(notes).toEqual([])
  })

  it('is reported as expired once it is', async () => {
    const { serve, notes, pass } = open(1)
    serve(planOf('orders-v1', { tls: clientOf(short) }))
    await pass(DAY_MS - MINUTE_MS)
    expect(notes.at(-1)?.[0]).toBe('certificate_expiring')
    await pass()
    expect(notes.at(-1)?.[0]).toBe('certificate_expired')
  })

  it('ends with the first one of its chain', async () => {
    const { serve, notes, pass } = open(5)
    serve(planOf('orders-v1', { tls: clientOf(long, short) }))
    await pass()
    expect(notes[0]?.[4]).toBe(clientText('orders-v1', 7, short))
  })

  it('is reported every minute until a revision with another one serves', async () => {
    const { serve, notes, pass } = open(3)
    serve(planOf('orders-v1', { tls: clientOf(short) }))
    await pass(3 * MINUTE_MS)
    expect(notes).toHaveLength(3)
    serve(planOf('orders-v1', { revision: 8, tls: clientOf(long) }))
    await pass(3 * MINUTE_MS)
    expect(notes).toHaveLength(3)
  })

  it('is reported no longer once its API is withdrawn, withheld or retired', async () => {
    const { serve, withdraw, notes, pass } = open(3)
    for (const api of ['gone-v1', 'withheld-v1', 'retired-v1']) serve(planOf(api, { tls: clientOf(short) }))
    withdraw('gone-v1')
    serve({ ...planOf('withheld-v1', { state: 'Withheld' }), backend: null })
    serve(planOf('retired-v1', { state: 'Retired', tls: clientOf(short) }))
    await pass()
    expect(notes).toEqual([])
  })

  it('of a canary is reported with the revision of the canary', async () => {
    const { serve, notes, pass } = open(3)
    serve(planOf('orders-v1', { tls: clientOf(long), canary: clientOf(short) }))
    await pass()
    expect(notes.map(([, , , , which]) => which)).toEqual([clientText('orders-v1', 8, short)])
  })

  it('of one tenant is never reported to another one', async () => {
    const { serve, notes, pass } = open(3)
    serve(planOf('a-v1', { tenant: 'acme', tls: clientOf(short) }))
    serve(planOf('b-v1', { tenant: 'other', tls: clientOf(long) }))
    serve(planOf('c-v1', { tenant: 'third', tls: clientOf(middle) }))
    await pass()
    expect(notes.map(([, tenant, api]) => [tenant, api])).toEqual([
      ['acme', 'a-v1'],
      ['third', 'c-v1'],
    ])
  })
})

describe('the authorities of a backend', () => {
  it('are a risk before the first one expires, and expired when none is valid', async () => {
    const { serve, notes, pass } = open(1)
    serve(planOf('orders-v1', { tls: caOf(middle, short) }))
    await pass(DAY_MS)
    expect(notes.at(-1)).toEqual([
      'certificate_expiring',
      'acme',
      'orders-v1',
      null,
      `authority for the backend of orders-v1, revision 7, until ${dayOf(short)}`,
    ])
    await pass(endOf(middle) - endOf(short) + MINUTE_MS)
    const [outcome, , , , which] = notes.at(-1)!
    expect([outcome, which]).toEqual([
      'certificate_expired',
      `authority for the backend of orders-v1, revision 7, until ${dayOf(middle)}`,
    ])
  })

  it('give way to a client certificate that has expired already', async () => {
    const { serve, notes, pass } = open(-1)
    serve(planOf('orders-v1', { tls: { ...clientOf(short), ...caOf(middle) } }))
    await pass()
    expect(notes.map(([outcome, , , , which]) => [outcome, which])).toEqual([
      ['certificate_expired', clientText('orders-v1', 7, short)],
    ])
  })
})

describe('the watch on certificates of backends', () => {
  it('passes on nothing of a certificate or key but its end', async () => {
    const { serve, notes, logged, pass } = open(1)
    serve(planOf('orders-v1', { tls: { ...clientOf(short), ...caOf(short) } }))
    await pass(2 * DAY_MS)
    expect(notes.length).toBeGreaterThan(0)
    expect(JSON.stringify([notes, logged])).not.toMatch(/BEGIN|names-of|Test Authority|ciphertext/)
  })

  it('serves a plan whose certificate cannot be read, and says so without its text', async () => {
    const { serve, notes, logged, pass } = open(1)
    serve(planOf('orders-v1', { tls: clientOf(short) }))
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
    expect(() => serve(planOf('orders-v1', { tls: { certificate: broken, key: 'ciphertext' } }))).not.toThrow()
    await pass()
    expect(notes).toEqual([])
    expect(logged).toEqual(['a certificate for the backend of an API cannot be read; its end is not watched'])
  })

  it('logs once a minute if risks cannot be recorded, and goes on', async () => {
    const { serve, logged, pass } = open(1, { isFull: true })
    for (const api of ['a-v1', 'b-v1', 'c-v1']) serve(planOf(api, { tls: clientOf(short) }))
    await pass(2 * MINUTE_MS)
    expect(logged).toHaveLength(2)
  })

  it('measures the days until the first certificate of all expires', () => {
    const { serve, withdraw, daysLeft } = open(10)
    expect(daysLeft()).toBeNull()
    serve(planOf('a-v1', { tls: clientOf(long) }))
    serve(planOf('b-v1', { tls: caOf(short) }))
    expect(daysLeft()).toBeCloseTo(10, 5)
    withdraw('b-v1')
    expect(daysLeft()).toBeCloseTo(10 + (endOf(long) - endOf(short)) / DAY_MS, 5)
  })

  it('ends with its timer', () => {
    const { stop, clock } = open(1)
    stop()
    expect(clock.pending).toBe(0)
  })
})
