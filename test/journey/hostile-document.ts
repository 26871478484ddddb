/** An OpenAPI document whose texts are attacks on the page that shows them. */

export const HOSTILE = '<img src=x onerror="window.hacked=1">\u202eevil'
const SCRIPT = '</script><script>window.hacked=1</script>'
const LONG = 'x'.repeat(10_000)

/** `Hostile` 1.0.0 with one operation, `hostile`. */
export function hostileDocument(): object {
  const schema = {
    type: 'object',
    required: [HOSTILE],
    description: SCRIPT,
    properties: {
      [HOSTILE]: { type: 'string', description: HOSTILE, example: SCRIPT, enum: [HOSTILE, SCRIPT] },
      [LONG]: { type: 'string', description: LONG, default: LONG },
      constructor: { type: 'string', description: 'A name that objects have.' },
      itself: { $ref: '#/components/schemas/Thing' },
    },
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Hostile',
      version: '1.0.0',
      description: `${HOSTILE}\n\n[click](javascript:window.hacked=1) ${LONG}`,
    },
    servers: [{ url: 'http://127.0.0.1:1' }],
    components: {
      schemas: { Thing: schema },
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
    },
    security: [{ key: [] }],
    paths: {
      '/things': {
        post: {
          operationId: 'hostile',
          tags: [`${HOSTILE}${LONG}`],
          summary: `${HOSTILE}${LONG}`,
          description: `${SCRIPT}\n${HOSTILE}\n${LONG}`,
          parameters: [
            {
              name: 'x-shop',
              in: 'header',
              description: `${HOSTILE}${LONG}`,
              schema: { type: 'string' },
              example: HOSTILE,
            },
            { name: HOSTILE, in: 'query', schema: { type: 'string', default: SCRIPT } },
          ],
          requestBody: { description: HOSTILE, content },
          responses: { 200: { description: `${HOSTILE}${LONG}`, content } },
        },
        get: {
          operationId: 'plain',
          externalDocs: { url: 'javascript:window.hacked=1' },
          responses: { 200: { description: SCRIPT } },
        },
      },
    },
  }
}
