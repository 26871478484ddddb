/** The page without a session: a form that leads to the sign-in of the service. */

import { useEffect } from 'preact/hooks'
import { brand, findBrand } from '../shell/brand.ts'
import { query } from '../router.ts'
import { texts } from '../texts.ts'

const FAILURES: ReadonlyMap<string, string> = new Map([
  ['expired', texts.signIn.expired],
  ['denied', texts.signIn.denied],
  ['failed', texts.signIn.failed],
  ['portal-off', texts.signIn.portalOff],
])

export function SignIn() {
  const known = query.value.get('organisation') ?? ''
  useEffect(() => {
    if (known !== '') void findBrand(known)
  }, [known])
  const failure = FAILURES.get(query.value.get('sign-in') ?? '')
  const wanted = failure === undefined ? location.pathname + location.search : ''
  // A form of its own may not lead to another origin, as the sign-in of the gateway is.
  const signIn = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault()
    const organisation = String(new FormData(event.currentTarget).get('organisation'))
    location.assign(`/console/sign-in?${new URLSearchParams({ organisation, path: wanted }).toString()}`)
  }
  return (
    <main class="sign-in">
      {brand.value?.logoUrl != null && <img class="logo" src={brand.value.logoUrl} alt="" />}
      <h1>
        <bdi>{brand.value?.name ?? texts.product}</bdi>
      </h1>
      <p class="quiet">{texts.signIn.lead}</p>
      {failure !== undefined && (
        <p class="notice" role="alert">
          {failure}
        </p>
      )}
      <form onSubmit={signIn}>
        <label>
          {texts.signIn.organisation}
          <input
            name="organisation"
            autocomplete="organization"
            maxLength={128}
            defaultValue={known}
            aria-describedby="organisation-hint"
          />
        </label>
        <p id="organisation-hint" class="quiet">
          {texts.signIn.hint}
        </p>
        <button type="submit" class="main">
          {texts.signIn.button}
        </button>
      </form>
    </main>
  )
}
