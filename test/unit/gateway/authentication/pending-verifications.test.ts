import { describe, expect, it } from 'vitest'
import { createPendingVerifications } from '../../../../src/gateway/authentication/pending-verifications.ts'

/** A queue whose turns of the loop the test runs one by one. */
function start(waitingMax?: number) {
  const deferred: (() => void)[] = []
  const pending = createPendingVerifications({
    defer: (task) => deferred.push(task),
    ...(waitingMax && { waitingMax }),
  })
  const verified: number[] = []
  const enqueue = (number: number) => pending.enqueue(() => void verified.push(number))
  return { pending, verified, enqueue, runTurn: () => deferred.shift()?.(), deferredCount: () => deferred.length }
}

describe('the queue of pending verifications', () => {
  it('runs two in each later turn of the loop, in arrival order', () => {
    const { verified, enqueue, runTurn, deferredCount } = start()
    for (let number = 1; number <= 5; number++) void enqueue(number)
    expect(verified).toEqual([])
    runTurn()
    expect(verified).toEqual([1, 2])
    runTurn()
    runTurn()
    expect(verified).toEqual([1, 2, 3, 4, 5])
    expect(deferredCount()).toBe(0)
  })

  it('appends to a queue that is being worked off, and starts again after it was empty', () => {
    const { verified, enqueue, runTurn } = start()
    for (const number of [1, 2, 3]) void enqueue(number)
    runTurn()
    void enqueue(4)
    runTurn()
    expect(verified).toEqual([1, 2, 3, 4])
    void enqueue(5)
    runTurn()
    expect(verified).toEqual([1, 2, 3, 4, 5])
  })

  it('returns null while it is full', () => {
    const { enqueue, runTurn } = start(3)
    for (const number of [1, 2, 3]) expect(enqueue(number)).not.toBeNull()
    expect(enqueue(4)).toBeNull()
    runTurn()
    expect(enqueue(5)).not.toBeNull()
  })

  it('rejects the promise of a verification that throws, and no other', async () => {
    const { pending, runTurn } = start()
    const failed = pending.enqueue(() => {
      throw new Error('it failed')
    })
    const fine = pending.enqueue(() => 'fine')
    runTurn()
    await expect(failed).rejects.toThrow('it failed')
    expect(await fine).toBe('fine')
  })
})
