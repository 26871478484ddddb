import { describe, expect, it, onTestFinished } from 'vitest'
import { createClaimedJob, type ClaimedJobOptions } from '../../../../src/control/command/claimed-job.ts'
import { createLocalClaims, type Claims } from '../../../../src/storage/store/claims.ts'
import { createFakeClock, settled } from '../../../fixtures/fake-clock.ts'

/** A job with claims of which single methods are replaced. */
function open(replaced: Partial<Claims> = {}, options: Partial<ClaimedJobOptions> = {}) {
  const clock = createFakeClock(0)
  const events: string[] = []
  const failures: unknown[] = []
  const local = createLocalClaims()
  const claims: Claims = {
    ...local,
    async release(claim) {
      events.push(`released ${claim.fence}`)
    },
    ...replaced,
  }
  const job = createClaimedJob({
    claims,
    name: 'job',
    holder: 'i-1',
    clock,
    create: () => ({
      async start() {
        events.push('started')
      },
      stop: () => void events.push('stopped'),
    }),
    onFailed: (cause) => failures.push(cause),
    ...options,
  })
  onTestFinished(() => job.stop())
  return { job, clock, events, failures }
}

describe('a claimed job', () => {
  it('runs while its claim is renewed, and stops before it releases the claim', async () => {
    const { job, clock, events } = open()
    await job.start()
    await clock.advance(3_600_000)
    expect(events).toEqual(['started'])
    await job.stop()
    expect(events).toEqual(['started', 'stopped', 'released 1'])
    expect(clock.pending).toBe(0)
  })

  it('does not run while another node has the claim, and starts once it is free', async () => {
    let isFree = false
    const { job, clock, events } = open({
      claim: async (name) => (isFree ? { name, fence: 1 } : null),
    })
    await job.start()
    await clock.advance(60_000)
    expect(events).toEqual([])
    isFree = true
    await clock.advance(5_000)
    expect(events).toEqual(['started'])
  })

  it('stops as soon as another node has taken its claim, and tries again', async () => {
    let isMine = true
    const { job, clock, events } = open({ renew: async () => isMine })
    await job.start()
    isMine = false
    await clock.advance(5_000)
    expect(events).toEqual(['started', 'stopped', 'released 1'])
    isMine = true
    await clock.advance(5_000)
    expect(events).toEqual(['started', 'stopped', 'released 1', 'started'])
  })

  it.each([
    ['fail', () => Promise.reject(new Error('away'))],
    ['are not answered', () => new Promise<boolean>(() => {})],
  ])('stops before its claim ends in the store if the renewals %s', async (_, renew) => {
    const { job, clock, events } = open({ renew })
    await job.start()
    await clock.advance(13_000)
    expect(events).toEqual(['started'])
    await clock.advance(1_500)
    expect(events.slice(0, 2)).toEqual(['started', 'stopped'])
  })

  it('counts its time from before the claim was sent', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<void>()
    const { job, clock, events } = open({
      renew: () => new Promise(() => {}),
      async claim(name) {
        await answer
        return { name, fence: 1 }
      },
    })
    void job.start()
    await clock.advance(12_000)
    resolve()
    await settled()
    expect(events).toEqual(['started'])
    await clock.advance(1_500)
    expect(events).toEqual(['started', 'stopped', 'released 1'])
  })

  it('that fails to start is stopped, releases its claim and is started again', async () => {
    let isBroken = true
    const { job, clock, events, failures } = open(
      {},
      {
        create() {
          const stopTicking = clock.every(1_000, () => events.push('worked'))
          return {
            async start() {
              if (isBroken) throw new Error('broken')
              events.push('started')
            },
            stop() {
              stopTicking()
              events.push('stopped')
            },
          }
        },
      },
    )
    await job.start()
    await clock.advance(4_000)
    expect(failures).toHaveLength(1)
    expect(events).toEqual(['stopped', 'released 1'])
    isBroken = false
    await clock.advance(2_000)
    expect(events).toEqual(['stopped', 'released 1', 'started', 'worked'])
  })

  it('that cannot be created releases its claim', async () => {
    const { job, events, failures } = open(
      {},
      {
        create() {
          throw new Error('broken')
        },
      },
    )
    await job.start()
    expect([events, failures.length]).toEqual([['released 1'], 1])
  })

  it('that is stopped while it is being claimed never starts, and gives the claim back', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<void>()
    const { job, events } = open({
      async claim(name) {
        await answer
        return { name, fence: 1 }
      },
    })
    void job.start()
    const stopped = job.stop()
    resolve()
    await stopped
    expect(events).toEqual(['released 1'])
  })
})
