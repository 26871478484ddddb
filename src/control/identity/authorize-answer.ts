/** The end of a sign-in: the redirect back to the client, or a page if a device waits for the answer. */

import type { Back } from './authorize-request.ts'
import type { DeviceStep } from './device-step.ts'
import { answer, type OauthAnswer } from '../../boundary/plan/oauth-call.ts'

export interface AnswerOptions {
  readonly gatewayUrl: string
  readonly deviceStep: Pick<DeviceStep, 'refuse'>
}

/** Redirects with 303, so that the browser does not send the form to the client. An error refuses the device that waits. */
export async function sendBack(
  { gatewayUrl, deviceStep }: AnswerOptions,
  { redirectUri, state, api, device }: Back,
  parameters: Readonly<Record<string, string>>,
): Promise<OauthAnswer> {
  if (device !== undefined) return deviceStep.refuse(device, parameters['error_description'] ?? '')
  const url = new URL(redirectUri)
  const added = new URLSearchParams(parameters)
  if (state !== null) added.set('state', state)
  if (api !== '') added.set('iss', `${gatewayUrl}/${api}`)
  url.search = `${url.search}${url.search === '' ? '?' : '&'}${added.toString()}`
  return answer(303, null, { Location: url.href, 'Referrer-Policy': 'no-referrer' })
}
