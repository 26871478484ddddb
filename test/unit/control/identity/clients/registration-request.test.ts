import { describe, expect, it } from 'vitest'
import { readRegistration } from '../../../../../src/control/identity/clients/registration-request.ts'

const URI = 'https://app.example/back'
const read = (members: object) => readRegistration(JSON.stringify({ redirect_uris: [URI], ...members }))
const readUris = (uris: unknown) => read({ redirect_uris: uris })

describe('a registration', () => {
  it('gives the name and the redirect URIs, each once', () => {
    const redirectUris = [URI, 'http://127.0.0.1/back', 'http://localhost:3000/back', 'http://[::1]/back']
    expect(read({ client_name: 'Reader', redirect_uris: [...redirectUris, URI] })).toEqual({
      name: 'Reader',
      redirectUris,
    })
    expect(read({})).toEqual({ name: '', redirectUris: [URI] })
  })

  it('ignores members that are unknown or not supported', () => {
    const more = { client_id: 'cli_1', client_secret: 'x', scope: 'admin', jwks: { keys: [] }, tenant: 'rival' }
    expect(read({ ...more, software_statement: 'x', __proto__: { a: 1 }, application_type: 'native' })).toEqual({
      name: '',
      redirectUris: [URI],
    })
  })

  it.each([
    ['not JSON', '{"redirect_uris":'],
    ['not UTF-8', null],
    ['empty', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['of two readings', `{"redirect_uris":["${URI}"],"redirect_uris":["https://evil.example/"]}`],
    ['of two readings by an escape', `{"redirect_uris":["${URI}"],"redirect\\u005furis":["https://evil.example/"]}`],
    ['deep', `{"redirect_uris":["${URI}"],"x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
    ['wide', `{${Array.from({ length: 1_000 }, (_, n) => `"m${n}":1`).join(',')}}`],
  ])('is refused if the body is %s', (_, text) => {
    expect(readRegistration(text)).toMatchObject({ error: 'invalid_client_metadata' })
  })

  it.each<readonly [string, object]>([
    ['a secret by default', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['a key', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['no method of a list', { token_endpoint_auth_method: ['none'] }],
    ['a grant of its own', { grant_types: ['client_credentials'] }],
    ['one more grant', { grant_types: ['authorization_code', 'client_credentials'] }],
    ['only refresh tokens', { grant_types: ['refresh_token'] }],
    ['the implicit grant', { grant_types: ['implicit'], response_types: ['token'] }],
    ['no grant', { grant_types: [] }],
    ['a grant as a text', { grant_types: 'authorization_code' }],
    ['a grant that is no text', { grant_types: ['authorization_code', {}] }],
    ['a token as a response', { response_types: ['code', 'token'] }],
    ['a number as a name', { client_name: 1 }],
    ['a name that is too long', { client_name: 'x'.repeat(1_025) }],
  ])('is refused with %s', (_, members) => {
    expect(read(members)).toMatchObject({ error: 'invalid_client_metadata' })
  })

  it.each<readonly [string, unknown]>([
    ['none', undefined],
    ['null', null],
    ['an empty list', []],
    ['a text', URI],
    ['a number', [1]],
    ['a list in a list', [[URI]]],
    ['eleven', Array.from({ length: 11 }, (_, n) => `${URI}/${n}`)],
    ['a script', ['javascript:alert(1)//https://a.b/']],
    ['data', ['data:text/html,x']],
    ['a private scheme', ['com.example.app:/back']],
    ['a file', ['file:///etc/passwd']],
    ['http elsewhere', ['http://app.example/back']],
    ['http on a name that begins like a loopback host', ['http://127.0.0.1.evil.example/']],
    ['http on a loopback host as a user', ['http://localhost@evil.example/']],
    ['a fragment', [`${URI}#x`]],
    ['an empty fragment', [`${URI}#`]],
    ['a user', ['https://user:secret@app.example/']],
    ['a relative address', ['/back']],
    ['no host', ['https:back']],
    ['a host in other letters', ['https://аpp.example/']],
    ['a control character', [`${URI}\r\nSet-Cookie: a=b`]],
    ['a tab that URL parsers remove', ['https://app.exa\tmple/']],
    ['white space before it', [` ${URI}`]],
    ['a backslash', ['https://app.example\\@evil.example/']],
    ['a quote', ['https://app.example/"><script>']],
    ['a long one', [`${URI}/${'x'.repeat(512)}`]],
    ['a good one first', [URI, 'javascript:x']],
  ])('is refused with redirect URIs that are %s', (_, uris) => {
    expect(readUris(uris)).toMatchObject({ error: 'invalid_redirect_uri' })
  })

  it('cannot imitate the page that shows the name', () => {
    for (const [name, shown] of [
      ['<script>alert(1)</script>', 'scriptalert1script'],
      ['Bank\u202e\u0000\u001b[2J\r\n', 'Bank2J'],
      ['Bank (registered by the operator)', 'Bank registered by the operator'],
      ['x'.repeat(500), 'x'.repeat(64)],
      ['\u200b\u2028', ''],
    ] as const) {
      expect(read({ client_name: name }), name).toMatchObject({ name: shown })
    }
  })
})
