/** Runs in a page before its own scripts: reports what stored text has become to `tollgateFound`, and what the page has on request. */

const ADDRESSES = ['href', 'src', 'action', 'formaction', 'xlink:href', 'srcdoc', 'poster', 'data']
const PROTOCOLS = ['http:', 'https:', 'blob:', 'data:']
const ELEMENTS = 'img[src="x"], iframe, object, embed, base, meta[http-equiv]'

const briefly = (text) => text.slice(0, 100)
const hasHandler = (element) => [...element.attributes].some(({ name }) => name.startsWith('on'))

addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  tollgateFound(`policy violation ${violatedDirective} ${blockedURI}`),
)

new MutationObserver((changes) => {
  const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element)
  for (const element of added.flatMap((each) => [each, ...each.querySelectorAll('*')]))
    if (hasHandler(element) || element.matches(ELEMENTS)) tollgateFound(`element ${briefly(element.outerHTML)}`)
}).observe(document, { childList: true, subtree: true })

globalThis.tollgateInspect = () => {
  const found = [...document.querySelectorAll('*')].flatMap(inspectElement)
  const overflow = document.documentElement.scrollWidth - innerWidth
  if (overflow > 0) found.push(`${overflow} px wider than the window of ${innerWidth} px`)
  return found.map((each) => `${location.pathname}: ${each}`)
}

function inspectElement(element) {
  const found = [...element.attributes]
    .filter(({ name }) => ADDRESSES.includes(name))
    .flatMap(({ value }) => inspectAddress(element, value))
  if (element.tagName === 'SCRIPT' && !element.hasAttribute('src')) found.push(`script ${briefly(element.outerHTML)}`)
  if (hasHandler(element)) found.push(`handler ${briefly(element.outerHTML)}`)
  return found
}

/** Links to other places are for people to follow; nothing else of another place may be in a page. */
function inspectAddress({ tagName }, value) {
  const url = URL.parse(value, document.baseURI)
  if (url === null || !PROTOCOLS.includes(url.protocol)) return [`address ${briefly(value)}`]
  const isForeign = url.origin !== location.origin && url.protocol.startsWith('http')
  return isForeign && tagName !== 'A' ? [`foreign ${tagName} ${briefly(value)}`] : []
}
