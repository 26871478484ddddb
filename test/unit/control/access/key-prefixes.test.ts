/** Starts of the API keys that earlier versions have created. */

import { describe, expect, it } from 'vitest'
import {
  CREDENTIAL_KIND,
  credentialWrite,
  type CredentialBody,
} from '../../../../src/control/access/credential-document.ts'
import { addKeyPrefixes } from '../../../../src/control/access/key-prefixes.ts'
import type { Document } from '../../../../src/storage/store/registry.ts'
import { ACME, openTestCatalogue, publishApi, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

/** Credentials as an earlier version has stored them: without the starts of their keys. */
async function openOldCatalogue() {
  const catalogue = openTestCatalogue()
  const { registry, vault } = catalogue
  const { consumer } = await publishApi(catalogue)
  const keys: Document<CredentialBody>[] = []
  for (let count = 0; count < 3; count++) {
    const { id: subscription } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    for (const each of await registry.list(CREDENTIAL_KIND, { where: { subscription }, limit: 10 })) {
      const { keyPrefix: _, ...body } = each.body
      await registry.commit(ACME, 'test', [credentialWrite(each.id, each.tenant, each.revision, body)])
      if (each.body.type === 'ApiKey') keys.push(each)
    }
  }
  const options = { registry, vault, tenant: 'acme', isStopped: () => false }
  return { catalogue, keys, options }
}

const byStart = async ({ registry }: TestCatalogue, keyPrefix: string) =>
  (await registry.list(CREDENTIAL_KIND, { tenant: 'acme', where: { keyPrefix }, limit: 5 })).map(({ id }) => id)

describe('API keys of an earlier version', () => {
  it('are found by their start after the first start, and the work is done once', async () => {
    const { catalogue, keys, options } = await openOldCatalogue()
    expect(await byStart(catalogue, keys[0]!.body.keyPrefix!)).toEqual([])
    expect(await addKeyPrefixes(options)).toBe(3)
    for (const { id, body } of keys) expect(await byStart(catalogue, body.keyPrefix!)).toEqual([id])
    const lookedUp = await catalogue.registry.find(CREDENTIAL_KIND, 'keyHash', keys[0]!.body.keyHash)
    expect(lookedUp?.id).toBe(keys[0]!.id)
    expect(await addKeyPrefixes(options)).toBe(0)
  })

  it('are found also if a credential is revoked at the same time, and stay revoked', async () => {
    const { catalogue, keys, options } = await openOldCatalogue()
    const [key] = keys
    const { registry, credentials } = catalogue
    let isRevoked = false
    const racing: typeof registry = {
      ...registry,
      async commitEach(commits) {
        if (!isRevoked) await credentials.revoke(ACME, key!.body.subscription, key!.id)
        isRevoked = true
        return registry.commitEach(commits)
      },
    }
    expect(await addKeyPrefixes({ ...options, registry: racing })).toBe(3)
    expect(await byStart(catalogue, key!.body.keyPrefix!)).toEqual([key!.id])
    expect((await registry.get(CREDENTIAL_KIND, key!.id))?.body.state).toBe('Revoked')
  })

  it('are left out if they cannot be decrypted, and the others are found', async () => {
    const { catalogue, keys, options } = await openOldCatalogue()
    const [damaged, other] = keys
    const { registry } = catalogue
    const { id, tenant, revision } = (await registry.get(CREDENTIAL_KIND, damaged!.id))!
    const { keyPrefix: _, ...body } = damaged!.body
    await registry.commit(ACME, 'test', [credentialWrite(id, tenant, revision, { ...body, apiKey: 'damaged' })])
    expect(await addKeyPrefixes(options)).toBe(2)
    expect(await byStart(catalogue, other!.body.keyPrefix!)).toEqual([other!.id])
  })

  it('wait for the next start if the service stops', async () => {
    const { catalogue, keys, options } = await openOldCatalogue()
    expect(await addKeyPrefixes({ ...options, isStopped: () => true })).toBe(0)
    expect(await addKeyPrefixes(options)).toBe(3)
    expect(await byStart(catalogue, keys[2]!.body.keyPrefix!)).toHaveLength(1)
  })
})
