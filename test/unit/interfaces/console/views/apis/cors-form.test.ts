import { describe, expect, it } from 'vitest'
import {
  modeOf,
  originsOf,
  readCors,
  toEntries,
  withMaxAge,
  withMode,
  withNames,
} from '../../../../../../src/interfaces/console/views/apis/cors-form.ts'

const LISTED = { origins: ['https://app.example'], credentials: true, maxAge: 60, headers: ['X-Shop'] }

describe('The rule for pages of other origins', () => {
  it('is that of the document, a list, or all origins', () => {
    expect([null, LISTED, { origins: [] }, { origins: '*' }].map(modeOf)).toEqual([
      'document',
      'listed',
      'listed',
      'all',
    ])
  })

  it('keeps its other members when the origins change', () => {
    expect(withMode(LISTED, 'listed')).toEqual(LISTED)
    expect(withMode(null, 'listed')).toEqual({ origins: [] })
    expect(withMode({ origins: '*', maxAge: 5 }, 'listed')).toEqual({ origins: [], maxAge: 5 })
    expect(withMode(LISTED, 'document')).toBeNull()
  })

  it('has no credentials for all origins, which the service refuses', () => {
    expect(withMode(LISTED, 'all')).toEqual({ origins: '*', maxAge: 60, headers: ['X-Shop'] })
  })

  it('leaves out what is empty', () => {
    expect(withNames(LISTED, 'headers', [])).not.toHaveProperty('headers')
    expect(withNames(LISTED, 'exposeHeaders', ['X-Total'])).toHaveProperty('exposeHeaders', ['X-Total'])
    expect(withMaxAge(LISTED, '')).not.toHaveProperty('maxAge')
    expect(withMaxAge(LISTED, '0')).toHaveProperty('maxAge', 0)
  })

  it('has a list of origins only', () => {
    expect(originsOf({ origins: '*' })).toEqual([])
    expect(originsOf(LISTED)).toEqual(['https://app.example'])
    expect(originsOf(null)).toEqual([])
  })

  it('is read from what a person typed as JSON, without what no rule has', () => {
    for (const none of [undefined, null, 5, 'text', ['*']]) expect(readCors(none)).toBeNull()
    expect(readCors({})).toEqual({ origins: [] })
    const odd = {
      origins: ['https://a.example', 5],
      headers: 5,
      exposeHeaders: [null, 'X-A'],
      credentials: 'yes',
      maxAge: '9',
    }
    expect(readCors(odd)).toEqual({ origins: ['https://a.example'], exposeHeaders: ['X-A'] })
    expect(readCors(LISTED)).toEqual(LISTED)
    expect(readCors({ origins: '*' })).toEqual({ origins: '*' })
  })

  it('is read from lines', () => {
    expect(toEntries(' https://a.example\n\n https://b.example, https://c.example\n')).toEqual([
      'https://a.example',
      'https://b.example',
      'https://c.example',
    ])
    expect(toEntries(' \n ')).toEqual([])
  })
})
