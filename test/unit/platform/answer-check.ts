/** Holds answers against the OpenAPI document that the platform itself publishes. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect } from 'vitest'

interface Media {
  readonly schema?: unknown
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { responses: Readonly<Record<string, { content?: Readonly<Record<string, Media>> }>> }>>
    >
  >
}

export interface CheckedAnswer {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export type AnswerCheck = (method: string, path: string, answer: CheckedAnswer) => void

/** What the document does not know is let pass: 404 and 405 of the server itself. */
export function createAnswerCheck(document: Document): AnswerCheck {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv as unknown as Parameters<typeof formats.default>[0])
  ajv.addSchema(document, 'document')
  const compiled = new Map<string, ValidateFunction>()
  const templates = Object.keys(document.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
  }))

  function validatorFor(template: string, method: string, status: string, mediaType: string): ValidateFunction {
    const steps = ['paths', template, method, 'responses', status, 'content', mediaType, 'schema']
    const pointer = steps.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
    let validate = compiled.get(pointer)
    if (validate === undefined) {
      validate = ajv.compile({ $ref: `document#/${encodeURI(pointer)}` })
      compiled.set(pointer, validate)
    }
    return validate
  }

  return (verb, url, { statusCode, headers, body }) => {
    expect(headers['x-request-id'], 'every answer names its request').toMatch(/^[0-9a-f]{24}$/)
    const path = url.split('?', 1)[0] ?? ''
    const template = templates.find(({ pattern }) => pattern.test(path))?.template
    const method = verb === 'HEAD' ? 'get' : verb.toLowerCase()
    const operation = template === undefined ? undefined : document.paths[template]?.[method]
    if (template === undefined || operation === undefined || statusCode === 405) return
    const status = String(statusCode)
    const response = operation.responses[status]
    expect(response, `${verb} ${template} answers ${status}, which is not declared: ${body}`).toBeDefined()
    if (body === '') return
    const mediaType = String(headers['content-type']).split(';', 1)[0] ?? ''
    expect(Object.keys(response?.content ?? {}), `${verb} ${template} ${status}`).toContain(mediaType)
    if (!mediaType.endsWith('json') || template.endsWith('/content')) return
    const validate = validatorFor(template, method, status, mediaType)
    validate(JSON.parse(body))
    expect(validate.errors, `${verb} ${template} ${status}: ${body}`).toBeNull()
  }
}
