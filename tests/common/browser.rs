//! Pages in a real browser, without a network.

use super::{available, limited, out_dir};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The page in a browser of its own; its document after scripts have run.
pub fn browse(page: &Path) -> Option<String> {
    let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .iter()
        .find(|p| Path::new(p).exists());
    if !available("a browser (chromium)", browser.is_some()) {
        return None;
    }
    let profile = out_dir().join(format!("browser-{}-{}", std::process::id(), page.file_stem()?.display()));
    let _ = std::fs::remove_dir_all(&profile);
    let mut c = Command::new(browser?);
    c.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--window-size=1280,900",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]);
    c.arg(format!("--user-data-dir={}", profile.display())).arg(format!("file://{}", page.display()));
    let run = limited(c, Duration::from_secs(240));
    let _ = std::fs::remove_dir_all(&profile);
    assert!(!run.hung && run.out.contains("</html>"), "{run:?}");
    Some(run.out)
}

/// Opens everything on the page and asks for what is wider than its place.
const ASKS: &str = "<p id='wide'></p><script>
    document.querySelectorAll('[hidden]').forEach((e) => { e.hidden = false; });
    document.querySelectorAll('details').forEach((e) => { e.open = true; });
    const all = [...document.querySelectorAll('body, body *')];
    const out = all.filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5
        || (getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1));
    const page = document.documentElement;
    document.getElementById('wide').textContent = 'width ' + innerWidth
        + (page.scrollWidth > page.clientWidth ? ' the page ' + page.scrollWidth : '')
        + out.map((e) => ' ' + e.tagName + '.' + e.className + ' ' + e.scrollWidth).join('') + ' end';
    </script></body>";

/// What on the page needs a horizontal bar in a window of 1280 pixels; nothing without a browser.
pub fn wider_than_its_place(page: &Path) -> Option<String> {
    let text = std::fs::read_to_string(page).expect("the page");
    let asks = page.with_extension("asks.html");
    std::fs::write(&asks, text.replace("</body>", ASKS)).expect("room for a page");
    let dom = browse(&asks)?;
    let said = dom.split("id=\"wide\">").nth(1).and_then(|t| t.split("</p>").next()).unwrap_or("no answer");
    let wide = said.strip_prefix("width 1280").and_then(|t| t.strip_suffix(" end")).unwrap_or(said);
    Some(wide.to_owned())
}
