/** An OpenAPI document and an OpenSLA declaration whose texts are attacks on the page that shows them. */

import { hostileDocument } from '../hostile-document.ts'

export const TEXT = `"'><img src=x onerror=ran(901)>\u202e</script><script>ran(901)</script>`
export const SCOPE = '<img/src=x/onerror=ran(902)>'
export const SCRIPT_URL = 'javascript:ran(903)'

export function toBase64(document: object): string {
  return Buffer.from(JSON.stringify(document)).toString('base64')
}

/** `Hostile` 1.0.0: what `hostileDocument` has, and links, addresses, references and scopes. */
export function hostileApi(version = '1.0.0'): object {
  const document = hostileDocument() as { info: object; components: { securitySchemes: object; schemas: object } }
  const flows = { clientCredentials: { tokenUrl: SCRIPT_URL, refreshUrl: SCRIPT_URL, scopes: { [SCOPE]: TEXT } } }
  const { components } = document
  return {
    ...document,
    info: {
      ...document.info,
      version,
      termsOfService: SCRIPT_URL,
      contact: { name: TEXT, url: SCRIPT_URL },
      license: { name: TEXT, url: SCRIPT_URL },
      summary: TEXT,
    },
    servers: [{ url: SCRIPT_URL, description: TEXT }, { url: `https://hostile.example/${TEXT}` }],
    externalDocs: { url: SCRIPT_URL, description: TEXT },
    tags: [{ name: TEXT, description: TEXT, externalDocs: { url: SCRIPT_URL } }],
    components: {
      ...components,
      securitySchemes: { ...components.securitySchemes, oauth: { type: 'oauth2', description: TEXT, flows } },
      schemas: { ...components.schemas, [`A${'x'.repeat(200)}`]: { type: 'string', title: TEXT, example: TEXT } },
      examples: { Bad: { summary: TEXT, description: TEXT, externalValue: SCRIPT_URL } },
    },
    security: [{ key: [] }, { oauth: [SCOPE] }],
    [`x-${TEXT}`]: TEXT,
  }
}

export function hostileSla(): object {
  return {
    opensla: '1.0.0',
    info: { title: TEXT, description: TEXT, variant: TEXT, version: TEXT },
    limits: [{ name: TEXT, totals: { day: 4_000 }, concurrent: 0 }],
    quotas: { period: 'Monthly', resourceUnits: 500 },
    price: { currency: 'EUR', perUnit: '0.004' },
    runtime: [{ name: TEXT, availability: 99 }],
    [TEXT]: TEXT,
  }
}
