//! Numbers formatted as in C.

use super::Conversion;

/// Formats an integer for `%d`, `%i`, `%u`, `%o`, `%x` or `%X`.
pub(super) fn integer(conversion: &Conversion, value: u64) -> Vec<u8> {
    let unused = 64 - conversion.bytes * 8;
    let signed = (value << unused).cast_signed() >> unused;
    let value = value << unused >> unused;
    let (negative, digits) = match conversion.letter {
        b'd' | b'i' => (signed < 0, signed.unsigned_abs().to_string()),
        b'o' => (false, format!("{value:o}")),
        b'x' => (false, format!("{value:x}")),
        b'X' => (false, format!("{value:X}")),
        _ => (false, value.to_string()),
    };
    let mut digits = match (value, conversion.precision) {
        (0, Some(0)) => String::new(),
        (_, least) => format!("{digits:0>least$}", least = least.unwrap_or(1)),
    };
    let prefix = match conversion.letter {
        b'd' | b'i' => conversion.sign(negative),
        b'x' if conversion.alternative && value > 0 => "0x",
        b'X' if conversion.alternative && value > 0 => "0X",
        b'o' if conversion.alternative && !digits.starts_with('0') => {
            digits.insert(0, '0');
            ""
        }
        _ => "",
    };
    conversion.pad(prefix, digits.as_bytes(), conversion.precision.is_none())
}

/// Formats a number for `%e`, `%f`, `%g` or `%a`, or for their uppercase forms.
pub(super) fn float(conversion: &Conversion, value: f64) -> Vec<u8> {
    let sign = conversion.sign(value.is_sign_negative());
    let letter = conversion.letter.to_ascii_lowercase();
    let number = value.abs();
    let precision = conversion.precision.unwrap_or(6);
    let point = conversion.alternative;
    let mut prefix = sign.to_owned();
    let mut body = match letter {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => "inf".to_owned(),
        b'f' => fixed(number, precision, point),
        b'e' => scientific(number, precision, point),
        b'a' => {
            prefix += "0x";
            hexadecimal(number, conversion.precision, point)
        }
        _ => general(number, precision.max(1), point),
    };
    if conversion.letter.is_ascii_uppercase() {
        prefix.make_ascii_uppercase();
        body.make_ascii_uppercase();
    }
    conversion.pad(&prefix, body.as_bytes(), value.is_finite())
}

fn fixed(number: f64, precision: usize, point: bool) -> String {
    let end = if point && precision == 0 { "." } else { "" };
    format!("{number:.precision$}{end}")
}

/// Returns the decimal digits of a number and its power of ten.
fn split(number: f64, precision: usize) -> (String, i32) {
    let text = format!("{number:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), power.parse().unwrap_or(0))
}

fn scientific(number: f64, precision: usize, point: bool) -> String {
    let (digits, power) = split(number, precision);
    let end = if point && precision == 0 { "." } else { "" };
    format!("{digits}{end}{}", exponent(power))
}

fn exponent(power: i32) -> String {
    let sign = if power < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", power.unsigned_abs())
}

fn general(number: f64, precision: usize, point: bool) -> String {
    let (digits, power) = split(number, precision - 1);
    let is_fixed = power >= -4 && (power as i64) < precision as i64;
    let digits = match is_fixed {
        true => fixed(number, (precision as i64 - 1 - i64::from(power)) as usize, point),
        false if point && precision == 1 => digits + ".",
        false => digits,
    };
    let digits = match digits.contains('.') && !point {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => &digits,
    };
    match is_fixed {
        true => digits.to_owned(),
        false => format!("{digits}{}", exponent(power)),
    }
}

/// Formats the part of a hexadecimal number after `0x`. If the precision is smaller than the number of digits, the last
/// digit is rounded to nearest even.
fn hexadecimal(number: f64, precision: Option<usize>, point: bool) -> String {
    const DIGITS: usize = 13;
    let bits = number.to_bits();
    let (fraction, power) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let (mut value, power) = match power {
        0 if fraction == 0 => (0, 0),
        0 => (fraction, -1022),
        power => (fraction | 1 << 52, power - 1023),
    };
    let kept = precision.unwrap_or(DIGITS).min(DIGITS);
    let cut = (DIGITS - kept) * 4;
    if cut > 0 {
        let (rest, half) = (value & ((1 << cut) - 1), 1 << (cut - 1));
        value = value >> cut << cut;
        if rest > half || rest == half && value >> cut & 1 == 1 {
            value += 1 << cut;
        }
    }
    let digits = format!("{:013x}", value & ((1 << 52) - 1));
    let digits = match precision {
        None => digits.trim_end_matches('0').to_owned(),
        Some(precision) => format!("{:0<precision$}", &digits[..kept]),
    };
    let dot = if digits.is_empty() && !point { "" } else { "." };
    let sign = if power < 0 { '-' } else { '+' };
    format!("{:x}{dot}{digits}p{sign}{}", value >> 52, power.unsigned_abs())
}
