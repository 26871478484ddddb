import { describe, expect, it } from 'vitest'
import { readIgnores } from '../../../../../src/interfaces/cli/gate/ignore-file.ts'
import { NOW_MS } from './working-folder.ts'

const ENTRY = { rule: 'pagination', reason: 'Ten entries at most.', expires: '2026-06-15' }
const read = (...entries: readonly object[]) => readIgnores('i.yaml', { ignore: entries }, NOW_MS)
const at = (pointer: string, rule = 'pagination') => ({ rule, pointer })

describe('An entry of the ignore file', () => {
  it('covers its rule in every document until the end of its last day', () => {
    expect(read(ENTRY).reasonFor('a.yaml', at('/paths/x'))).toBe('Ten entries at most.')
    expect(read(ENTRY).reasonFor('a.yaml', at('/paths/x', 'example'))).toBeNull()
    const expired = read({ ...ENTRY, expires: '2026-06-14' })
    expect(expired.notes()).toEqual(['Entry 1 of the ignore file (pagination) expired on 2026-06-14.'])
    expect(expired.reasonFor('a.yaml', at('/paths/x'))).toBeNull()
    expect(expired.notes()[0]).toMatch(/expired on 2026-06-14: its findings count again\.$/)
  })

  it('covers a pointer and everything below it, but no pointer that only begins alike', () => {
    const ignores = read({ ...ENTRY, pointer: '/paths/~1cards' })
    expect(ignores.notes()).toEqual(['Entry 1 of the ignore file (pagination) covers no finding.'])
    expect(ignores.reasonFor('a', at('/paths/~1cards/get'))).not.toBeNull()
    expect(ignores.reasonFor('a', at('/paths/~1cards'))).not.toBeNull()
    expect(ignores.reasonFor('a', at('/paths/~1cards~1x/get'))).toBeNull()
    expect(ignores.notes()).toEqual([])
  })

  it('covers the documents that its pattern matches', () => {
    const ignores = read({ ...ENTRY, file: './apis/*.yaml' })
    expect(ignores.reasonFor('apis/a.yaml', at('/'))).not.toBeNull()
    expect(ignores.reasonFor('./apis/a.yaml', at('/'))).not.toBeNull()
    expect(ignores.reasonFor('apis/b/a.yaml', at('/'))).toBeNull()
  })

  it.each([
    [{ ...ENTRY, rule: '' }, 'needs a `rule`'],
    [{ ...ENTRY, reason: ' ' }, 'needs a `reason`'],
    [{ ...ENTRY, reason: undefined }, 'needs a `reason`'],
    [{ ...ENTRY, expires: undefined }, 'needs `expires`, a date such as 2027-03-31'],
    [{ ...ENTRY, expires: 'never' }, 'needs `expires`'],
    [{ ...ENTRY, expires: '2026-13-01' }, 'needs `expires`'],
    [{ ...ENTRY, expires: 20260615 }, 'needs `expires`'],
    [{ ...ENTRY, until: '2026-06-15' }, 'has the unknown member `until`'],
    [{ ...ENTRY, pointer: 'paths' }, 'has a `pointer` that does not begin with /'],
    [{ ...ENTRY, file: 1 }, 'has a `file` that is not a text'],
    [{}, 'needs a `rule`'],
  ])('is refused as %j', (entry, why) => {
    expect(() => read(ENTRY, entry)).toThrow(`--ignore-file i.yaml: entry 2 ${why}`)
  })

  it('is in a list', () => {
    expect(() => readIgnores('i.yaml', {}, NOW_MS)).toThrow('`ignore` must be a list')
  })
})
