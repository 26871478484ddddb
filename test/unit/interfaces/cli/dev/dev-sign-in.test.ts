import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { writeDevContext } from '../../../../../src/interfaces/cli/dev/dev-sign-in.ts'
import { contextPath, openContexts } from '../../../../../src/interfaces/cli/session/contexts.ts'

const service = {
  gatewayUrl: 'http://127.0.0.1:1',
  baseUrl: 'http://127.0.0.1:2',
  clientId: 'own-admin',
  clientSecret: 'secret-1',
}
const tokens = { accessToken: 'token-1', expiresAtMs: 1 }
const work = { name: 'work', ...service, baseUrl: 'https://platform.example', ...tokens }

function configuration() {
  const folder = mkdtempSync(join(tmpdir(), 'dev-sign-in-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const env = { XDG_CONFIG_HOME: folder }
  let text = ''
  const err = {
    isTerminal: false,
    columns: 100,
    colour: false,
    write: (more: string | Uint8Array) => void (text += more),
  }
  return { store: openContexts(contextPath(env)), io: { env, err }, errors: () => text }
}

describe('the context of dev', () => {
  it('becomes the current one if there is none, and is removed with dev', async () => {
    const { store, io } = configuration()
    const context = await writeDevContext({ api: 'orders-v1', service, tokens, io })
    const expected = { name: 'dev-orders-v1', ...service, ...tokens }
    expect(await store.read()).toEqual({ current: 'dev-orders-v1', contexts: [expected] })
    await context.remove()
    expect(await store.read()).toEqual({ current: null, contexts: [] })
  })

  it('leaves the current context and those of other services as they are', async () => {
    const { store, io } = configuration()
    await store.update(() => ({ current: 'work', contexts: [work] }))
    const context = await writeDevContext({ api: 'orders-v1', service, tokens, io })
    expect(await store.read()).toMatchObject({ current: 'work', contexts: [work, { name: 'dev-orders-v1' }] })
    await context.remove()
    expect(await store.read()).toEqual({ current: 'work', contexts: [work] })
  })

  it('stays if another dev has replaced it', async () => {
    const { store, io } = configuration()
    const context = await writeDevContext({ api: 'orders-v1', service, tokens, io })
    await writeDevContext({ api: 'orders-v1', service: { ...service, clientSecret: 'secret-2' }, tokens, io })
    await context.remove()
    expect(await store.read()).toMatchObject({ contexts: [{ clientSecret: 'secret-2' }] })
  })

  it('is missing if the file cannot be used, and dev goes on', async () => {
    const { store, io, errors } = configuration()
    mkdirSync(join(io.env.XDG_CONFIG_HOME, 'tollgate'))
    writeFileSync(store.path, 'damaged')
    const context = await writeDevContext({ api: 'orders-v1', service, tokens, io })
    expect(context.name).toBeNull()
    expect(errors()).toContain('No context for the command line')
    await context.remove()
  })
})
