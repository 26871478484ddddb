import { describe, expect, it } from 'vitest'
import { chooseBackend, type BackendChoiceOptions } from '../../../../src/control/publishing/backend-choice.ts'
import { toBackend } from '../../../../src/control/publishing/backend-address.ts'

const NAMED = toBackend({ url: 'http://127.0.0.1:9090/base', timeoutMs: 500, health: '/up' }, null)
const SERVER = 'https://api.example'
const choose = (more: Partial<BackendChoiceOptions>) => {
  const { backend, backendSource } = chooseBackend({ input: undefined, serverUrl: SERVER, serving: null, ...more })
  return [backend.url, backendSource]
}

describe('the backend of a new document', () => {
  it('is that of the request', () => {
    const serving = { backend: NAMED, serverUrl: SERVER }
    expect(choose({ input: { url: 'http://new.example' }, serving })).toEqual(['http://new.example', 'request'])
  })

  it('is servers[0] for the first revision', () => {
    expect(choose({})).toEqual([SERVER, 'document'])
    expect(() => choose({ serverUrl: null })).toThrow('no usable backend')
  })

  it('stays that of the active revision, with its time limit, if servers[0] is unchanged or not absolute', () => {
    for (const serverUrl of [SERVER, null]) {
      const choice = chooseBackend({ input: undefined, serverUrl, serving: { backend: NAMED, serverUrl: SERVER } })
      expect(choice).toEqual({ backend: NAMED, backendSource: 'activeRevision' })
    }
  })

  it('is servers[0] if the document changes it', () => {
    const serving = { backend: NAMED, serverUrl: 'https://old.example' }
    expect(choose({ serving })).toEqual([SERVER, 'document'])
  })

  it('has not the source `document` if it has targets, of which servers[0] is one', () => {
    const serving = { backend: toBackend({ targets: [{ url: SERVER }] }, null), serverUrl: SERVER }
    expect(choose({ serving })).toEqual([SERVER, 'activeRevision'])
  })

  it('has the source `document` as long as it equals servers[0]', () => {
    const serving = { backend: toBackend({ url: SERVER }, null), serverUrl: SERVER }
    expect(choose({ serving })).toEqual([SERVER, 'document'])
  })
})
