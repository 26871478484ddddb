/** The paths of a sign-in for a device (RFC 8628). */

import { answers, client, failure, FORM, form, long, type Fragment } from './oauth-openapi-parts.ts'
import { object, text } from './schemas.ts'

const deviceForm = form(
  {
    ...client,
    scope: {
      type: 'string',
      maxLength: 1_000,
      description: 'Scopes, separated by spaces. Default: all granted scopes.',
    },
    resource: { ...long, description: 'The address of an API. Default: that of the subscription.' },
  },
  ['client_id'],
)
const deviceAnswer = object({
  device_code: { ...text, description: 'Sent to the token endpoint until the person has decided.' },
  user_code: { ...text, description: 'The code that the device shows.' },
  verification_uri: { ...text, description: 'The page on which the person enters the code.' },
  verification_uri_complete: { ...text, description: 'The same page, with the code.' },
  expires_in: { type: 'integer', description: 'Seconds.' },
  interval: { type: 'integer', description: 'Seconds between two requests to the token endpoint.' },
})

export function devicePaths(): Fragment {
  const summary = 'Begins a sign-in on a device without a browser'
  const html = { 'text/html': { schema: { type: 'string' } } }
  const responses = {
    200: { description: 'The page that asks for the code, or the sign-in page.', content: html },
    400: { description: 'The code is wrong, or the form is from another browser.', content: html },
    429: { description: 'Too many wrong codes. `Retry-After` contains the time to wait.', content: html },
    503: failure('503'),
    default: failure('default'),
  }
  const userCode = { name: 'user_code', in: 'query', required: false, schema: { type: 'string', maxLength: 32 } }
  const shared = { tags: ['Sign-in'], security: [], responses }
  return {
    '/oauth2/v2/device_authorization': {
      post: {
        operationId: 'authorizeDevice',
        summary,
        tags: ['Sign-in'],
        security: [],
        requestBody: { required: true, content: { [FORM]: { schema: deviceForm } } },
        responses: answers(200, summary, deviceAnswer, ['400', '401', '503']),
      },
    },
    '/oauth2/v2/device': {
      get: {
        operationId: 'openDevicePage',
        summary: 'Shows the page that asks for the code of a device',
        parameters: [{ ...userCode, description: 'The code, if the device sent the person here.' }],
        ...shared,
      },
      post: {
        operationId: 'enterUserCode',
        summary: 'Continues with the sign-in page for the device that shows the code',
        requestBody: { required: true, content: { [FORM]: { schema: { type: 'object' } } } },
        ...shared,
      },
    },
  }
}
