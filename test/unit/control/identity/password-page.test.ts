import { describe, expect, it } from 'vitest'
import { isPassword } from '../../../../src/control/access/people/password-rule.ts'
import { createPasswordPage } from '../../../../src/control/identity/password-page.ts'
import { PERSON } from '../../../fixtures/token-endpoints.ts'

const PASSWORD = 'nanoseconds are eleven inches'
const HOSTILE = `"><script>alert(1)</script>'`

function openPage(name: string = PERSON.name) {
  const used: string[] = []
  const page = createPasswordPage({
    openLink: async (text) => (text === 'link' && used.length === 0 ? { ...PERSON, name, tenant: 'ten "1' } : null),
    useLink: async (_, password) => used.push(password) === 1,
    isPassword,
    baseUrl: 'https://platform.example',
  })
  const send = (method: 'GET' | 'POST', ...form: readonly (readonly [string, string])[]) =>
    page({ endpoint: 'password', api: '', method, form, authorization: undefined, cookie: undefined, address: '' })
  return { used, send }
}

describe('the page of a one-time link', () => {
  it('sets the password by its form, and does not work a second time', async () => {
    const { used, send } = openPage()
    const form = await send('GET', ['link', 'link'])
    expect(form.status).toBe(200)
    expect(form.body).toContain('autocomplete="new-password"')
    const done = await send('POST', ['link', 'link'], ['password', PASSWORD])
    expect(done.status).toBe(200)
    expect(done.body).toContain('href="https://platform.example/console/sign-in?organisation=ten+%221"')
    expect(used).toEqual([PASSWORD])
    for (const method of ['GET', 'POST'] as const) {
      expect((await send(method, ['link', 'link'], ['password', PASSWORD])).status).toBe(400)
    }
    expect(used).toEqual([PASSWORD])
  })

  it.each(['short', 'x'.repeat(257), 'a long\npassword', 'a long \ud800 password', ''])(
    'refuses the password %j and stays open',
    async (password) => {
      const { used, send } = openPage()
      const answer = await send('POST', ['link', 'link'], ['password', password])
      expect([answer.status, used]).toEqual([400, []])
      expect(answer.body).toContain('role="alert"')
    },
  )

  it('changes nothing by GET, with a field twice, or without a link', async () => {
    const { used, send } = openPage()
    await send('GET', ['link', 'link'], ['password', PASSWORD])
    for (const form of [
      [
        ['link', 'link'],
        ['link', 'link'],
      ],
      [['password', PASSWORD]],
      [],
    ] as const) {
      expect((await send('POST', ...form)).status).toBe(400)
    }
    expect(used).toEqual([])
  })

  it('escapes names, loads nothing, cannot be framed, is not stored and sends no referrer', async () => {
    const { body, headers } = await openPage(HOSTILE).send('GET', ['link', 'link'])
    expect(body).not.toContain('<script>')
    expect(headers['Content-Security-Policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(headers).toMatchObject({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  })
})
