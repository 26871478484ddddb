import { describe, expect, it } from 'vitest'
import { isMetadataUrl, readMetadata } from '../../../../../src/control/identity/clients/metadata-document.ts'

const ID = 'https://app.example/oauth/client.json'
const DOCUMENT = {
  client_id: ID,
  client_name: 'Reader',
  redirect_uris: ['https://app.example/back', 'http://127.0.0.1/back'],
  token_endpoint_auth_method: 'none',
}

const read = (members: object, id = ID) => readMetadata(id, Buffer.from(JSON.stringify(members)))
const readText = (text: string) => readMetadata(ID, Buffer.from(text))

describe('a client id', () => {
  it('names a metadata document if it is an https URL with a path, in its canonical spelling', () => {
    for (const id of [ID, 'https://app.example:8443/x', 'https://app.example/x/?y=z']) {
      expect(isMetadataUrl(id, false), id).toBe(true)
    }
    for (const id of [
      'cli_123',
      'http://app.example/client',
      'HTTPS://app.example/client',
      'https://APP.example/client',
      'https://app.example:443/client',
      'https://app.example',
      'https://app.example/',
      'https://app.example/#client',
      'https://app.example/client#',
      'https://user@app.example/client',
      'https://app.example/a/../client',
      'https://app.example/%2e%2E/client',
      'https://app.example/client/.',
      'https://app.example:22/client',
      'https://127.0.0.1/client',
      'https://0x7f.1/client',
      'https://[::1]/client',
      'https://169.254.169.254/latest/meta-data',
      'https://app.example/cl\u0000ient',
      'https://app.example/clïent',
      `https://app.example/${'x'.repeat(600)}`,
      'javascript:alert(1)',
      'file:///etc/passwd',
    ]) {
      expect(isMetadataUrl(id, false), id).toBe(false)
    }
  })
})

describe('a metadata document', () => {
  it('gives the redirect URIs, and the name with the host', () => {
    expect(read(DOCUMENT)).toEqual({ name: 'Reader (app.example)', redirectUris: DOCUMENT.redirect_uris })
    const { token_endpoint_auth_method: _, client_name: __, ...least } = DOCUMENT
    expect(read(least)).toEqual({ name: 'app.example', redirectUris: DOCUMENT.redirect_uris })
  })

  it('cannot imitate another host by its name', () => {
    for (const [name, shown] of [
      ['Bank (bank.example)', 'Bank bankexample (app.example)'],
      ['<b>Bank</b>\u202e\u0000', 'bBankb (app.example)'],
      ['x'.repeat(1_000_000), `${'x'.repeat(64)} (app.example)`],
      [{ name: 'Bank' }, 'app.example'],
      ['...', 'app.example'],
    ] as const) {
      expect(read({ ...DOCUMENT, client_name: name })).toMatchObject({ name: shown })
    }
  })

  it('is refused for another URL, with a secret, without redirect URIs, or with hostile ones', () => {
    for (const members of [
      { ...DOCUMENT, client_id: `${ID}/` },
      { ...DOCUMENT, client_id: 'https://other.example/oauth/client.json' },
      { ...DOCUMENT, client_id: [ID] },
      { ...DOCUMENT, client_secret: 'x' },
      { ...DOCUMENT, client_secret_expires_at: 0 },
      { ...DOCUMENT, token_endpoint_auth_method: 'client_secret_basic' },
      { ...DOCUMENT, token_endpoint_auth_method: 'private_key_jwt' },
      { ...DOCUMENT, grant_types: ['client_credentials'] },
      { ...DOCUMENT, grant_types: 'authorization_code' },
      { ...DOCUMENT, response_types: ['token'] },
      { ...DOCUMENT, redirect_uris: undefined },
      { ...DOCUMENT, redirect_uris: [] },
      { ...DOCUMENT, redirect_uris: 'https://app.example/back' },
      { ...DOCUMENT, redirect_uris: { 0: 'https://app.example/back', length: 1 } },
      { ...DOCUMENT, redirect_uris: [7] },
      { ...DOCUMENT, redirect_uris: ['javascript:alert(1)'] },
      { ...DOCUMENT, redirect_uris: ['data:text/html,x'] },
      { ...DOCUMENT, redirect_uris: ['http://app.example/back'] },
      { ...DOCUMENT, redirect_uris: ['https://app.example/back#x'] },
      { ...DOCUMENT, redirect_uris: ['https://app.example/back', `https://app.example/${'x'.repeat(3_000)}`] },
      { ...DOCUMENT, redirect_uris: Array(21).fill('https://app.example/back') },
      [DOCUMENT],
    ]) {
      expect(read(members), JSON.stringify(members).slice(0, 200)).toHaveProperty('fault')
    }
  })

  it('is refused if it has no single reading', () => {
    const text = JSON.stringify(DOCUMENT)
    for (const hostile of [
      '',
      'null',
      '"text"',
      text.slice(0, -1),
      `${text.slice(0, -1)},"redirect_uris":["https://evil.example/"]}`,
      `${text.slice(0, -1)},"redirect\\u005furis":["https://evil.example/"]}`,
      `${text.slice(0, -1)},"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      `${text.slice(0, -1)},${Array.from({ length: 500 }, (_, index) => `"m${index}":0`).join()}}`,
      `{"__proto__":${text}}`,
    ]) {
      expect(readText(hostile), hostile.slice(0, 80)).toHaveProperty('fault')
    }
    expect(readMetadata(ID, Buffer.concat([Buffer.from(text), Buffer.from([0xff])]))).toHaveProperty('fault')
  })
})
