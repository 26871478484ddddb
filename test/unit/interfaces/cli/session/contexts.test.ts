import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  contextPath,
  openContexts,
  withContext,
  type Context,
} from '../../../../../src/interfaces/cli/session/contexts.ts'

let folder: string
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'contexts-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const context = (name: string, accessToken = 'token'): Context => ({
  name,
  accessToken,
  baseUrl: 'http://127.0.0.1:1',
  gatewayUrl: 'http://127.0.0.1:2',
  clientId: 'cli',
  expiresAtMs: 0,
})

describe('the file of contexts', () => {
  it('is in XDG_CONFIG_HOME, or in .config of the home folder', () => {
    expect(contextPath({ XDG_CONFIG_HOME: '/x' })).toBe('/x/tollgate/contexts.json')
    expect(contextPath({ HOME: '/home/ada' })).toBe('/home/ada/.config/tollgate/contexts.json')
  })

  it('is readable by its owner alone, also if it was readable by others before', async () => {
    const path = join(folder, 'mode.json')
    writeFileSync(path, JSON.stringify({ current: null, contexts: [] }))
    chmodSync(path, 0o644)
    await openContexts(path).update((file) => withContext(file, context('a')))
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('keeps names that are properties of objects', async () => {
    const store = openContexts(join(folder, 'names.json'))
    await store.update((file) => withContext(withContext(file, context('__proto__')), context('constructor')))
    expect(await store.read()).toEqual({
      current: 'constructor',
      contexts: [context('__proto__'), context('constructor')],
    })
  })

  it('loses no change of parallel commands', async () => {
    const store = openContexts(join(folder, 'parallel.json'))
    const names = Array.from({ length: 8 }, (_, index) => `context-${index}`)
    await Promise.all(names.map((name) => store.update((file) => withContext(file, context(name)))))
    expect((await store.read()).contexts.map(({ name }) => name).sort()).toEqual(names)
  })

  it('is unchanged after a change that failed, and not locked', async () => {
    const store = openContexts(join(folder, 'failed.json'))
    await store.update((file) => withContext(file, context('a')))
    await expect(store.update(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect((await store.update((file) => file)).contexts).toEqual([context('a')])
  })

  it.each(['', 'null', '{}', '{"contexts":[{"name":1}]}', '{"contexts":{"a":1}}'])(
    'refuses the damaged content %j',
    async (text) => {
      const path = join(folder, 'damaged.json')
      writeFileSync(path, text)
      await expect(openContexts(path).read()).rejects.toThrow('is damaged')
    },
  )
})
