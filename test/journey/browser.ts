/**
 * A minimal browser for sign-ins: keeps the cookies of one origin, does not follow redirects, and
 * submits forms with the fields of the page. It runs no scripts.
 */

import { request } from 'undici'

export interface Page {
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly html: string
}

export interface Browser {
  open(url: string): Promise<Page>
  /** Submits the only form of the page with its own values and `fields`; `press` names the button. */
  submit(page: Page, fields: Readonly<Record<string, string>>, press?: readonly [string, string]): Promise<Page>
}

export function createBrowser(): Browser {
  const cookies = new Map<string, string>()

  async function visit(method: 'GET' | 'POST', url: string, form?: URLSearchParams): Promise<Page> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { statusCode, headers, body } = await request(url, {
      method,
      headers: {
        ...(cookie !== '' && { cookie }),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: form.toString() }),
    })
    for (const line of [headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return { url, status: statusCode, headers, html: await body.text() }
  }

  return {
    open: (url) => visit('GET', url),
    submit(page, fields, press) {
      const form = new URLSearchParams()
      for (const [tag] of page.html.matchAll(/<input\b[^>]*>/g)) {
        const name = attribute(tag, 'name')
        if (name !== '') form.set(name, fields[name] ?? attribute(tag, 'value'))
      }
      if (press !== undefined) form.set(...press)
      const action = attribute(/<form\b[^>]*>/.exec(page.html)?.[0] ?? '', 'action')
      return visit('POST', new URL(action === '' ? page.url : action, page.url).href, form)
    },
  }
}

/** Returns name and value of the form's button with the text `label`. */
export function buttonOf({ html }: Page, label: string): readonly [string, string] {
  for (const [, tag = '', text = ''] of html.matchAll(/(<button\b[^>]*>)([^<]*)</g)) {
    if (text.trim() === label) return [attribute(tag, 'name'), attribute(tag, 'value')]
  }
  throw new Error(`the page has no button ${label}`)
}

function attribute(tag: string, name: string): string {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return value
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
