import { describe, expect, it } from 'vitest'
import { createNewcomers } from '../../../../src/gateway/authentication/pending-verifications.ts'

/** Turns of the loop by hand. */
function start(waitingMax?: number) {
  const tasks: (() => void)[] = []
  const newcomers = createNewcomers({ defer: (task) => tasks.push(task), ...(waitingMax && { waitingMax }) })
  const done: number[] = []
  const come = (number: number) => newcomers.take(() => void done.push(number))
  return { newcomers, done, come, turn: () => tasks.shift()?.(), left: () => tasks.length }
}

describe('newcomers', () => {
  it('are served two a turn, in order, behind what the turn brought', () => {
    const { done, come, turn, left } = start()
    for (let number = 1; number <= 5; number++) void come(number)
    expect(done).toEqual([])
    turn()
    expect(done).toEqual([1, 2])
    turn()
    turn()
    expect(done).toEqual([1, 2, 3, 4, 5])
    expect(left()).toBe(0)
  })

  it('who come while others wait get behind them, and the line begins anew when it was empty', () => {
    const { done, come, turn } = start()
    for (const number of [1, 2, 3]) void come(number)
    turn()
    void come(4)
    turn()
    expect(done).toEqual([1, 2, 3, 4])
    void come(5)
    turn()
    expect(done).toEqual([1, 2, 3, 4, 5])
  })

  it('are refused when the line is full, and taken again when it is not', () => {
    const { come, turn } = start(3)
    for (const number of [1, 2, 3]) expect(come(number)).not.toBeNull()
    expect(come(4)).toBeNull()
    turn()
    expect(come(5)).not.toBeNull()
  })

  it('hear what failed, and nobody else does', async () => {
    const { newcomers, turn } = start()
    const failed = newcomers.take(() => {
      throw new Error('it failed')
    })
    const fine = newcomers.take(() => 'fine')
    turn()
    await expect(failed).rejects.toThrow('it failed')
    expect(await fine).toBe('fine')
  })
})
