import { describe, expect, it } from 'vitest'
import { LeaseJournal, type JournalEntry } from '../../../../src/boundary/leases/lease-journal.ts'

const toEntry = (startMs: number, claim: number): JournalEntry => ({ key: 'k', startMs, endMs: startMs + 100, claim })

describe('The claims of a node', () => {
  it('are those written last, also by the process before', () => {
    const written: JournalEntry[] = []
    const journal = new LeaseJournal((entries) => written.push(...entries), [toEntry(0, 5), toEntry(0, 3)], 0)
    expect(journal.claimIn('k', 0)).toBe(3)
    journal.append([toEntry(0, 4), toEntry(100, 1)], 10)
    expect(written).toEqual([toEntry(0, 4), toEntry(100, 1)])
    expect([journal.claimIn('k', 0), journal.claimIn('k', 100), journal.claimIn('other', 0)]).toEqual([4, 1, 0])
  })

  it('do not count if they could not be written', () => {
    const journal = new LeaseJournal(
      () => {
        throw new Error('disk full')
      },
      [],
      0,
    )
    expect(() => journal.append([toEntry(0, 4)], 10)).toThrow('disk full')
    expect(journal.claimIn('k', 0)).toBe(0)
  })

  it('are retained for the window and the margin', () => {
    const journal = new LeaseJournal(() => {}, [toEntry(0, 5)], 1_000)
    journal.discardEnded(1_150, 50)
    expect(journal.all()).toEqual([toEntry(0, 5)])
    journal.discardEnded(1_151, 50)
    expect(journal.all()).toEqual([])
  })
})
