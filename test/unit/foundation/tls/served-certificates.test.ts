import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import type { TlsPlan } from '../../../../src/foundation/tls/tls-plan.ts'
import { readCertificates } from '../../../../src/foundation/tls/certificate-files.ts'
import { ServedCertificates } from '../../../../src/foundation/tls/served-certificates.ts'
import { createCertificateFolder } from '../../../fixtures/certificate-folder.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'

const authority = createTestAuthority()
afterAll(() => authority.remove())

const first = authority.sign('first.example.test')
const second = authority.sign('second.example.test')

/** The clock runs timers at once, so that each event of the file system is followed by a read. */
async function openServed(isWatched = true) {
  const folder = createCertificateFolder()
  folder.put('gw', first)
  const settings = {
    pair: { certFile: folder.at('gw.crt'), keyFile: folder.at('gw.key') },
    folder: null,
    clientCaFile: null,
  }
  const clock = { ...createFakeClock(0), after: (_: number, task: () => void) => (queueMicrotask(task), () => {}) }
  const counts: string[] = []
  const log = { info: vi.fn<() => void>(), warn: vi.fn<() => void>(), error: vi.fn<() => void>() }
  const served = new ServedCertificates({
    settings,
    first: await readCertificates(settings, null),
    clock,
    log: log as never,
    count: (reason) => void counts.push(reason),
  })
  const plans: TlsPlan[] = []
  const changed = Promise.withResolvers<TlsPlan>()
  served.onChange((plan) => {
    plans.push(plan)
    changed.resolve(plan)
  })
  if (isWatched) served.watch()
  onTestFinished(() => served.stop())
  return { folder, served, plans, changed: changed.promise, counts, log, clock }
}

it('presents another certificate when its files are replaced, with other ticket keys', async () => {
  const { folder, served, changed } = await openServed()
  const before = served.plan
  folder.put('gw', second)
  const plan = await changed
  expect(plan.fallback?.names).toEqual(['second.example.test'])
  expect(served.plan).toBe(plan)
  expect(Buffer.from(plan.ticketKeys).equals(before.ticketKeys)).toBe(false)
})

it('presents nothing new if the files have not changed', async () => {
  const { served, plans } = await openServed(false)
  await served.read()
  expect(plans).toEqual([])
})

it('goes on with the certificate before if the new one cannot be read, and says so', async () => {
  const { folder, served, plans, counts, log } = await openServed(false)
  folder.write('gw.crt', second.cert)
  await served.read()
  expect(plans).toEqual([])
  expect(counts).toEqual(['certificate_not_read'])
  expect(JSON.stringify(log.error.mock.calls)).toContain('belongs to another certificate')
  folder.write('gw.key', second.key)
  await served.read()
  expect(plans.map(({ fallback }) => fallback?.names)).toEqual([['second.example.test']])
})

it('reads the files once an hour, whatever the system reports', async () => {
  const { folder, served, clock, changed } = await openServed(false)
  folder.put('gw', second)
  served.watch()
  await clock.advance(3_600_000)
  expect((await changed).fallback?.names).toEqual(['second.example.test'])
})

it('reads what has changed before it began to watch', async () => {
  const { folder, served, changed } = await openServed(false)
  folder.put('gw', second)
  served.watch()
  expect((await changed).fallback?.names).toEqual(['second.example.test'])
})

it('reads a folder in which something changes all the time', async () => {
  const { folder, served, clock } = await openServed(false)
  const timers: (() => void)[] = []
  clock.after = (_, task) => {
    timers.push(task)
    return () => void timers.pop()
  }
  served.watch()
  await served.read()
  for (let change = 0; change < 20; change++) folder.write('unrelated.txt', String(change))
  await expect.poll(() => timers.length).toBe(1)
  folder.write('unrelated.txt', 'last')
  expect(timers).toHaveLength(1)
})

it('presents the certificates again that a server did not take', async () => {
  const { folder, served } = await openServed(false)
  let attempts = 0
  served.onChange(() => (attempts++ === 0 ? Promise.reject(new Error('a thread has ended')) : undefined))
  folder.put('gw', second)
  await served.read()
  await served.read()
  expect(attempts).toBe(2)
  await served.read()
  expect(attempts).toBe(2)
})

it('goes on if the certificates cannot be presented', async () => {
  const { folder, served, counts } = await openServed(false)
  served.onChange(() => Promise.reject(new Error('a thread has ended')))
  folder.put('gw', second)
  await served.read()
  expect(counts).toEqual(['certificate_not_read'])
  folder.put('gw', first)
  await served.read()
  expect(served.plan.fallback?.names).toEqual(['first.example.test'])
})
