import { describe, expect, it } from 'vitest'
import {
  EMPTY_BACKEND,
  pointerOf,
  sharesOf,
  toDraft,
  toInput,
  withoutTarget,
  withTarget,
  type Backend,
} from '../../../../../../src/interfaces/console/views/apis/backend-draft.ts'

const ONE: Backend = { url: 'https://a.example', timeoutMs: 2_000 }
const SEVERAL: Backend = {
  targets: [{ url: 'https://a.example', weight: 3 }, { url: 'https://b.example/v1' }],
  balance: 'leastBusy',
  timeoutMs: 2_000,
  health: '/health',
  connections: 8,
  waitMs: 50,
  tls: { certificate: 'CERTIFICATE', ca: 'CA', hasKey: true },
  secretHeaders: [{ name: 'Authorization' }],
}

const withUrls = (...urls: string[]) => ({ ...EMPTY_BACKEND, targets: urls.map((url) => ({ url, weight: '' })) })

describe('A backend that is edited', () => {
  it('is left to the service while no URL is entered', () => {
    expect(toInput(EMPTY_BACKEND, null)).toBeUndefined()
    expect(toInput(withUrls(' ', ''), SEVERAL)).toBeUndefined()
  })

  it('has one URL, or several targets', () => {
    expect(toInput(withUrls(' https://a.example '), null)).toEqual({ url: 'https://a.example' })
    expect(toInput(withUrls('https://a.example', '', 'https://b.example'), null)).toEqual({
      targets: [{ url: 'https://a.example' }, { url: 'https://b.example' }],
      balance: 'roundRobin',
    })
  })

  it('stays as it is stored if nothing is changed, with secrets by their names alone', () => {
    expect(toInput(toDraft(ONE), ONE)).toEqual(ONE)
    const { tls, ...rest } = SEVERAL
    expect(toInput(toDraft(SEVERAL), SEVERAL)).toEqual({ ...rest, tls: { certificate: 'CERTIFICATE', ca: 'CA' } })
    expect(tls).toHaveProperty('hasKey')
  })

  it('keeps its targets as such if one is left', () => {
    const one = withoutTarget(toDraft(SEVERAL), 0)
    expect(toInput(one, SEVERAL)).toMatchObject({ targets: [{ url: 'https://b.example/v1' }] })
  })

  it('loses the certificate and the headers that are not kept', () => {
    const draft = { ...toDraft(SEVERAL), keepsTls: false, keepsSecretHeaders: false }
    const input = toInput(draft, SEVERAL)
    expect(input).not.toHaveProperty('tls')
    expect(input).not.toHaveProperty('secretHeaders')
  })

  it('has an authority without a certificate', () => {
    const stored: Backend = { ...ONE, tls: { ca: 'CA', hasKey: false } }
    expect(toInput(toDraft(stored), stored)).toEqual({ ...ONE, tls: { ca: 'CA' } })
  })

  it('names the place of a target in the request, which leaves empty ones out', () => {
    const draft = withUrls('', 'https://a.example', 'https://b.example')
    expect(pointerOf(draft, null, 1, 'url')).toBe('/backend/targets/0/url')
    expect(pointerOf(draft, null, 2, 'weight')).toBe('/backend/targets/1/weight')
    expect(pointerOf(withUrls('', 'https://a.example'), null, 1, 'url')).toBe('/backend/url')
    expect(pointerOf(withUrls('https://a.example'), SEVERAL, 0, 'url')).toBe('/backend/targets/0/url')
  })

  it('gets another target at its end', () => {
    expect(withTarget(withUrls('https://a.example')).targets).toHaveLength(2)
  })
})

it('The targets share the calls by their weights', () => {
  expect(sharesOf([{ weight: 3 }, {}])).toEqual([75, 25])
  expect(sharesOf([{ url: 'https://a.example' }] as object[])).toEqual([100])
})
