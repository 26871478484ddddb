// @module-tag prlimit

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { withFilesLimited } from '../../file-size-limit.ts'
import { openTestOauthServer, tokenOf, type TestOauthServer } from '../../fixtures/token-endpoints.ts'

async function open(): Promise<TestOauthServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-full-'))
  const server = await openTestOauthServer({ registryPath: join(folder, 'registry.db') })
  onTestFinished(async () => {
    await server.registry.close()
    rmSync(folder, { recursive: true })
  })
  return server
}

it('a code yields no token on a disk that refuses writes, and one token when space is free', async () => {
  const { code, redeem, revoked } = await open()
  const text = await code()
  await withFilesLimited(0, async () => {
    const answer = await redeem({ code: text })
    expect(answer).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
    expect(answer.headers).toMatchObject({ 'Retry-After': '1' })
    expect(answer.body).not.toHaveProperty('access_token')
  })
  expect(tokenOf(await redeem({ code: text })).claims).toMatchObject({ client_id: 'cli_public' })
  expect(revoked).toEqual(new Set())
})

it('the client credentials grant works on a disk that refuses writes, because it stores nothing', async () => {
  const { post } = await open()
  await withFilesLimited(0, async () => {
    expect(tokenOf(await post()).claims).toMatchObject({ client_id: 'cli_1' })
  })
})
